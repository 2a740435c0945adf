//! The versions of the client: the table of features in docs/clients.md is the one in the code.

use super::{read, root};
use ralph_core::protocol::client_version::{ClientFeature, FEATURES};
use std::fs;

const PAGE: &str = "docs/clients.md";

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
