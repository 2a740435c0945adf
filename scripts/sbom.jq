# From `cargo metadata` to CycloneDX 1.5: all that `ralph` and `ralph-hooks` link, and what needs what.

(.packages | map({key: .id, value: .}) | from_entries) as $packages
| (.resolve.nodes | map({
    key: .id,
    # Linked: neither for tests nor for build scripts, and no macro, which runs in the compiler.
    value: [
      .deps[] | select(any(.dep_kinds[]; .kind == null)) | .pkg
      | select(any($packages[.].targets[]; .kind | index("proc-macro")) | not)
    ]
  }) | from_entries) as $links
| [$packages[] | select(.source == null and (.name == "ralph" or .name == "ralph-hooks")) | .id] as $roots
| def reached(seen; new):
    if (new | length) == 0 then seen
    else (seen + new) as $all
      | reached($all; [new[] | $links[.][]] | unique | . - $all)
    end;
  reached([]; $roots) as $linked
| def purl: "pkg:cargo/\(.name)@\(.version)";
  {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: {
      component: {
        type: "application",
        "bom-ref": "ralph",
        name: "ralph",
        version: ($packages[$roots[0]].version),
        description: "Ralph for \($target): the command line and its hooks",
        licenses: [{expression: $packages[$roots[0]].license}]
      },
      properties: [{name: "cargo:target", value: $target}]
    },
    components: [
      $linked[] | $packages[.]
      | {
          type: "library",
          "bom-ref": purl,
          name,
          version,
          purl: purl,
          # The old form of an expression, with a slash, is an expression no longer.
          licenses: [{expression: ((.license // "NOASSERTION") | gsub("\\s*/\\s*"; " OR "))}]
        }
        + ($checksums["\(.name)@\(.version)"] as $digest
            | if $digest then {hashes: [{alg: "SHA-256", content: $digest}]} else {} end)
        + (if .repository then {externalReferences: [{type: "vcs", url: .repository}]} else {} end)
    ] | sort_by(.name, .version),
    dependencies: (
      [{ref: "ralph", dependsOn: [$roots[] | $packages[.] | purl] | sort}]
      + [$linked[] | {ref: ($packages[.] | purl), dependsOn: ([$links[.][] | $packages[.] | purl] | sort)}]
      | sort_by(.ref)
    )
  }
