// A site on loopback with the files of one folder, for a trial of `cargo binstall` before a release is published.
// Prints its URL when it listens, and ends with its standard input.
//
// usage: node site.mjs DIR KEY CERTIFICATE

import { readFile, readFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";

const [folder, key, certificate] = process.argv.slice(2);
const options = { key: readFileSync(key), cert: readFileSync(certificate) };
const server = createServer(options, (request, response) => {
  readFile(join(folder, new URL(request.url, "https://localhost").pathname), (error, content) => {
    response.statusCode = error ? 404 : 200;
    response.end(content);
  });
});
server.listen(0, "127.0.0.1", () => console.log(`https://127.0.0.1:${server.address().port}`));
process.stdin.resume().on("end", () => process.exit(0));
