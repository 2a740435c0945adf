//! The command: which loop is meant, where its report goes, and what it never writes over.

use super::project::ReportProject;
use super::story::{ID, Story};
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn a_page_replaces_a_page_and_nothing_else() {
    let place = ReportProject::with(&Story::told());
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
            "ralph: `notes.html` exists and is not a report of Ralph; name another file, or remove it first\n"
        )
    );
    assert_eq!(fs::read_to_string(&mine).unwrap(), "<!doctype html>\nmy notes\n");
    fs::write(&mine, "").unwrap();
    place.done(&["report", ID, "--html", "notes.html"]);
    assert_eq!(fs::read_to_string(&mine).unwrap(), page, "an empty file holds nothing to lose");
}

#[test]
fn a_link_stays_one_and_what_is_no_file_is_left_alone() {
    let place = ReportProject::with(&Story::told());
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
        ("nowhere.html", "is a broken link"),
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
    let place = ReportProject::new();
    place.done(&["start", "--session", "S", "--ac", "it is=test -e it", "Make it"]);
    fs::write(place.at("project/it"), "").unwrap();
    for arguments in [&["report"][..], &["report", "--session", "S"]] {
        let said = place.done(arguments);
        assert!(said.starts_with("### Ralph: ⏳ implementation\n"), "{said}");
        assert!(
            said.contains("**AC-1** it is | <code>test -e it</code> | was not run |"),
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
    let place = ReportProject::new();
    let none = "ralph: there is no loop in `[ROOT]/project`; type `/ralph \"TASK\"` in Claude Code to \
                start one";
    assert_eq!(place.refused(&["report"]), (1, format!("{none}\n")));
    place.done(&["session", "new", "--id", ReportProject::SESSION, "Build a door"]);
    let hint =
        format!("{none}; for an orchestration: `ralph report --id {}`\n", ReportProject::SESSION);
    assert_eq!(place.refused(&["report"]), (1, hint));
    assert_eq!(place.refused(&["report", "--id", "../../etc"]).0, 1);
    assert_eq!(place.refused(&["report", "no-such-loop"]).0, 1);
    let said = place.done(&["report", "--id", ReportProject::SESSION]);
    assert!(said.starts_with("### Ralph: ⏳ in progress\n"), "{said}");
}

#[test]
fn what_it_reports_on_is_not_changed() {
    let place = ReportProject::with(&Story::told());
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

#[test]
fn a_report_shows_what_the_loop_changed() {
    let world = crate::world::World::new().under_git();
    let git = |arguments: &[&str]| {
        let mut command = world.command(std::path::Path::new("git"), "");
        let names = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
        assert!(command.args(names).args(arguments).output().unwrap().status.success());
    };
    world.write("project/kept", "one\ntwo\n");
    git(&["add", "."]);
    git(&["commit", "-qm", "Before the loop"]);
    let criterion = ["--ac", "it is there=test -f done"];
    world.ralph(&[&["start", "--session", "S", "fix it"], &criterion[..]].concat()).done();
    world.write("project/kept", "one\nthree\nfour\n");
    git(&["commit", "-qam", "Fix the numbers"]);
    world.write("project/done", "yes\n");
    let shown = world.ralph(&["report"]).done().stdout;
    for part in [
        "**Changed:** 2 files, +3 -1, 1 commit; from the start until this report was made\n",
        "- <code>&#43;1 -0</code> done\n",
        "- <code>&#43;2 -1</code> kept\n",
        "</code> Fix the numbers\n",
    ] {
        assert!(shown.contains(part), "`{part}` is not in\n{shown}");
    }
    assert!(!shown.contains("Before the loop"), "{shown}");
    // After the end it is the same, and outside of a repository it says so.
    world.ralph(&["cancel"]).done();
    assert!(world.ralph(&["report"]).done().stdout.contains("**Changed:** 2 files, +3 -1"));
    let outside = crate::world::World::new().live_loop("S");
    let shown = outside.ralph(&["report"]).done().stdout;
    let unknown = "**Changed:** unknown, because the project is not a git repository\n";
    assert!(shown.contains(unknown), "{shown}");
}
