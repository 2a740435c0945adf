//! The versions of the client: the table of features in docs/clients.md is the one in the code, and the
//! table of the sample names its tests and knows no failure.

use super::{read, root};
use ralph_core::protocol::client_version::{ClientFeature, ClientVersion, FEATURES, MEASURED};
use std::fs;

const PAGE: &str = "docs/clients.md";
const REFERENCE: &str = "docs/reference/clients.md";

/// The lines between two marks of the page.
fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("<!-- {from} -->\n")).expect(from);
    rest.split_once(&format!("<!-- {to} -->")).expect(to).0
}

fn features() -> String {
    let rows = FEATURES.iter().map(|row| {
        let below = match row.is_floor {
            true => format!("Ralph starts none: {}", row.without),
            false => row.without.to_owned(),
        };
        format!("| {} | {} | {below} |\n", row.name, row.since)
    });
    format!("| needs | since | below |\n|---|---|---|\n{}", rows.collect::<String>())
}

#[test]
fn the_page_of_clients_has_the_features_and_floors_of_the_code() {
    let path = root().join(PAGE);
    let page = read(&path);
    let (from, to) = ("features", "end of the features");
    if std::env::var_os("RALPH_UPDATE").is_some() {
        let (before, rest) = page.split_once(&format!("<!-- {from} -->\n")).expect(from);
        let (_, after) = rest.split_once(&format!("<!-- {to} -->")).expect(to);
        let features = features();
        fs::write(&path, format!("{before}<!-- {from} -->\n{features}<!-- {to} -->{after}"))
            .unwrap();
    }
    let kept = read(&path);
    assert!(between(&kept, from, to) == features(), "{PAGE}: RALPH_UPDATE=1 writes its features");
    let floor = ClientFeature::Conversation.row().since;
    assert!(kept.contains(&format!("which needs {floor} or newer")), "the sample names {floor}");
}

#[test]
fn the_matrix_of_clients_was_run_with_the_floors_and_the_newest_measured_version() {
    let page = read(&root().join(REFERENCE));
    let matrix = between(&page, "matrix", "end of the matrix");
    let heading = matrix.lines().find(|line| line.starts_with("| test")).expect("a heading");
    let versions: Vec<ClientVersion> =
        heading.split('|').filter_map(ClientVersion::printed).collect();
    let floor = ClientFeature::Conversation.row().since;
    for version in [floor, ClientFeature::Headless.row().since, MEASURED] {
        assert!(versions.contains(&version), "{version} is not in {heading}");
    }
    assert!(versions.iter().any(|version| *version < floor), "one below the floor: {heading}");
    // A client below the newest may have a fault of its own, which the table shows.
    for version in [floor, MEASURED] {
        let at = heading.split('|').position(|cell| ClientVersion::printed(cell) == Some(version));
        let cells = matrix.lines().filter_map(|row| row.split('|').nth(at?).map(str::trim));
        let cells: Vec<&str> = cells.collect();
        assert!(cells.contains(&"ok") && !cells.contains(&"FAILED"), "{version}: {cells:?}");
    }
    let sample = read(&root().join("tests/client/main.rs"));
    let (_, sample) = sample.split_once("const SAMPLE").unwrap();
    let names =
        sample.split_once("];").unwrap().0.lines().filter_map(|line| line.split('"').nth(1));
    for name in names {
        let row = name.replace("::", ": ").replace('_', " ");
        assert!(matrix.contains(&format!("| {row} |")), "{row}");
    }
}
