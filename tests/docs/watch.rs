//! `docs/watch.md` names the keys of the page.

use super::{read, root};

fn guide() -> String {
    read(&root().join("docs/watch.md"))
}

#[test]
fn the_keys_in_the_document_are_those_of_the_help() {
    let page = read(&root().join("crates/ralph/src/cli/watch/view.rs"));
    let (_, help) = page.split_once("const HELP: &str = \"\\\n").unwrap();
    let (help, _) = help.split_once("\";").unwrap();
    let keys = help.lines().filter(|line| {
        line.get(15..).is_some_and(|rest| line[..14].ends_with(' ') && !rest.is_empty())
    });
    let mut n = 0;
    for line in keys.filter(|line| !line.starts_with(' ')) {
        for key in line[..15].split(',').map(str::trim) {
            let named =
                [format!("`{key}`"), format!("{key},"), format!(" {key} "), format!("| {key}")];
            assert!(named.iter().any(|name| guide().contains(name.as_str())), "{key}");
            n += 1;
        }
    }
    assert!(n > 9, "only {n} keys were found");
}
