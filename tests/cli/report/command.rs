//! The command: which loop is meant, where its report goes, and what it never writes over.

use super::place::Place;
use super::story::{ID, Story};
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn a_page_replaces_a_page_and_nothing_else() {
    let place = Place::with(&Story::told());
    let page = fs::read_to_string(place.page()).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert_eq!(fs::read_to_string(place.page()).unwrap(), page, "a second one takes its place");
    let mine = place.at("project/notes.html");
    fs::write(&mine, "<!doctype html>\nmy notes\n").unwrap();
    let (exit, said) = place.refused(&["report", ID, "--html", "notes.html"]);
    assert_eq!(
        (exit, said.as_str()),
        (
            1,
            "ralph: `notes.html` is there and is no report of Ralph; say another name, or remove it first\n"
        )
    );
    assert_eq!(fs::read_to_string(&mine).unwrap(), "<!doctype html>\nmy notes\n");
    fs::write(&mine, "").unwrap();
    place.done(&["report", ID, "--html", "notes.html"]);
    assert_eq!(fs::read_to_string(&mine).unwrap(), page, "an empty file holds nothing to lose");
}

#[test]
fn a_link_stays_one_and_what_is_no_file_is_left_alone() {
    let place = Place::with(&Story::told());
    let page = place.page();
    let link = place.at("project/link.html");
    symlink(&page, &link).unwrap();
    fs::write(&page, fs::read_to_string(&page).unwrap() + "<!-- old -->").unwrap();
    let said = place.done(&["report", ID, "--html", "link.html"]);
    assert_eq!(said, format!("wrote {}\n", page.canonicalize().unwrap().display()));
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert!(!fs::read_to_string(&page).unwrap().contains("<!-- old -->"));
    for (name, words) in [
        ("../project", "is not a regular file"),
        ("nowhere.html", "is a link that leads nowhere"),
        ("no/such/folder.html", "could not write"),
    ] {
        if name == "nowhere.html" {
            symlink("gone", place.at("project/nowhere.html")).unwrap();
        }
        let (_, said) = place.refused(&["report", ID, "--html", name]);
        assert!(said.contains(words), "{said}");
    }
    assert_eq!(fs::read_dir(place.at("project")).unwrap().count(), 2, "nothing is left beside");
}

#[test]
fn a_live_loop_has_a_report_and_says_that_it_is_not_over() {
    let place = Place::new();
    place.done(&["start", "--session", "S", "--ac", "it is=test -e it", "Make it"]);
    fs::write(place.at("project/it"), "").unwrap();
    for arguments in [&["report"][..], &["report", "--session", "S"]] {
        let said = place.done(arguments);
        assert!(said.starts_with("### Ralph: ⏳ implementation\n"), "{said}");
        assert!(
            said.contains("**AC-1** it is | <code>test -e it</code> | was never run |"),
            "{said}"
        );
        assert!(said.contains("<code>ralph verify --loop "), "{said}");
        assert!(!said.contains(place.at("").to_str().unwrap()), "it is not said where it was made");
    }
    let page = place.done(&["report", "--html", "-"]);
    assert!(page.contains(", while it was not over."), "{page}");
}

#[test]
fn who_names_nothing_that_is_there_is_told_what_is() {
    let place = Place::new();
    let none = "ralph: there is no loop in `[ROOT]/project`; `ralph status --all` lists the others, \
                --loop ID names one";
    assert_eq!(place.refused(&["report"]), (1, format!("{none}\n")));
    place.done(&["session", "new", "--id", Place::SESSION, "Build a door"]);
    let hint = format!("{none}; for a session: `ralph report --id {}`\n", Place::SESSION);
    assert_eq!(place.refused(&["report"]), (1, hint));
    assert_eq!(place.refused(&["report", "--id", "../../etc"]).0, 2);
    assert_eq!(place.refused(&["report", "no-such-loop"]).0, 1);
    let said = place.done(&["report", "--id", Place::SESSION]);
    assert!(said.starts_with("### Ralph: ⏳ in progress\n"), "{said}");
}

#[test]
fn what_it_reports_on_is_not_changed() {
    let place = Place::with(&Story::told());
    let folder = place.at("ralph/archive");
    let seen = || -> Vec<(String, Vec<u8>)> {
        let loops = fs::read_dir(&folder).unwrap().map(|one| one.unwrap().path());
        let files =
            loops.flat_map(|one| fs::read_dir(one).unwrap().map(|file| file.unwrap().path()));
        let mut all: Vec<_> =
            files.map(|file| (file.display().to_string(), fs::read(&file).unwrap())).collect();
        all.sort();
        all
    };
    let before = seen();
    place.page();
    place.done(&["report", ID]);
    assert_eq!(seen(), before);
    assert_eq!(fs::read_dir(place.at("project")).unwrap().count(), 0);
}
