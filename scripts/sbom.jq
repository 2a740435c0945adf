# From `cargo metadata` to CycloneDX 1.5: all that `ralph` and `ralph-hooks` link, and what needs what.
# `$linked` has a pair for each edge, of a crate as NAME@VERSION and of what it was needed by.

(.packages | map({key: "\(.name)@\(.version)", value: .}) | from_entries) as $packages
| ($linked | map(.[0]) | unique) as $crates
| ($linked | map(select(.[1] == "") | .[0]) | unique) as $roots
| ($linked | map(select(.[1] != "")) | group_by(.[1])
    | map({key: .[0][1], value: map(.[0]) | unique}) | from_entries) as $links
| def purl: "pkg:cargo/\(.)";
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
      $crates[] as $crate | $packages[$crate]
      | {
          type: "library",
          "bom-ref": ($crate | purl),
          name,
          version,
          purl: ($crate | purl),
          # The old form of an expression, with a slash, is an expression no longer.
          licenses: [{expression: ((.license // "NOASSERTION") | gsub("\\s*/\\s*"; " OR "))}]
        }
        + ($checksums[$crate] as $digest
            | if $digest then {hashes: [{alg: "SHA-256", content: $digest}]} else {} end)
        + (if .repository then {externalReferences: [{type: "vcs", url: .repository}]} else {} end)
    ] | sort_by(.name, .version),
    dependencies: (
      [{ref: "ralph", dependsOn: ($roots | map(purl) | sort)}]
      + [$crates[] | {ref: purl, dependsOn: (($links[.] // []) | map(purl) | sort)}]
      | sort_by(.ref)
    )
  }
