// A registry on loopback with the packages of one folder, for a trial of `npm install -g` before they are
// published. Prints its URL when it listens, and ends with its standard input.
//
// usage: node registry.mjs DIR

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const folder = process.argv[2];
const packages = new Map();
for (const file of readdirSync(folder).filter((name) => name.endsWith(".tgz"))) {
  const path = join(folder, file);
  const manifest = JSON.parse(execFileSync("tar", ["-xzOf", path, "package/package.json"]));
  packages.set(manifest.name, { file, path, manifest });
}

function packument({ file, path, manifest }, url) {
  const integrity = `sha512-${createHash("sha512").update(readFileSync(path)).digest("base64")}`;
  const version = { ...manifest, dist: { tarball: `${url}/-/${file}`, integrity } };
  return {
    name: manifest.name,
    "dist-tags": { latest: manifest.version },
    versions: { [manifest.version]: version },
  };
}

const server = createServer((request, response) => {
  const path = decodeURIComponent(new URL(request.url, "http://localhost").pathname).slice(1);
  const url = `http://127.0.0.1:${server.address().port}`;
  const archive = [...packages.values()].find(({ file }) => path === `-/${file}`);
  const named = packages.get(path);
  if (archive) {
    response.end(readFileSync(archive.path));
  } else if (named) {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(packument(named, url)));
  } else {
    response.statusCode = 404;
    response.end("{}");
  }
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
process.stdin.resume().on("end", () => process.exit(0));
