//! The page as a person sees it: in a real browser, light and dark, on a wide screen, on a telephone, and printed.

use super::browser::Browser;
use super::project::ReportProject;
use super::refined::Refined;
use super::story::Story;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// On each screen, in light and dark, nobody has anything to complain about.
#[track_caller]
fn check(browser: &mut Browser, page: &Path, n_tasks: u64) -> Vec<Value> {
    // The width decides about the layout and the scheme about the colours: neither needs each of the other.
    let screens = [(360, "light"), (800, "dark"), (1280, "light")];
    let mut looks = Vec::new();
    for (width, scheme) in screens {
        browser.open(page, width, scheme);
        let look = browser.ask(include_str!("look.js"));
        let complaints = browser.complaints();
        assert_eq!(complaints, Vec::<String>::new(), "{scheme}, {width} wide");
        assert_eq!(look["found"], json!([]), "{scheme}, {width} wide");
        assert_eq!(look["tasks"], n_tasks, "{scheme}, {width} wide");
        assert!(look["texts"].as_u64().unwrap() > 30, "{look}");
        looks.push(look);
    }
    assert_ne!(looks[0]["paper"], looks[1]["paper"], "light and dark differ");
    looks
}

/// It can be printed: nothing is cut off at the side, and there is a document.
#[track_caller]
fn check_printed(browser: &mut Browser, page: &Path) {
    browser.open(page, 794, "light");
    browser.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
    let beyond = "[...document.querySelectorAll('main *')].filter((one) => \
                  one.getBoundingClientRect().right > 794.5).map((one) => one.outerHTML.slice(0, 120))";
    assert_eq!(browser.ask(beyond), json!([]));
    let printed = browser.call("Page.printToPDF", json!({"printBackground": true}));
    assert!(printed["data"].as_str().unwrap().starts_with("JVBERi"), "a PDF");
}

#[test]
fn a_finished_loop_can_be_read_on_any_screen() {
    let Some(mut browser) = Browser::start() else { return };
    let place = ReportProject::with(&Story::told());
    let page = place.page();
    let looks = check(&mut browser, &page, 9);
    assert_eq!(looks[0]["after"], 10);
    check_printed(&mut browser, &page);
}

#[test]
fn a_loop_that_was_given_up_shows_its_tasks_by_form_and_colour() {
    let Some(mut browser) = Browser::start() else { return };
    let place = ReportProject::with(&Story::given_up());
    let looks = check(&mut browser, &place.page(), 9);
    assert!(looks.iter().all(|look| look["kinds"].as_u64().unwrap() >= 4), "{looks:?}");
}

/// Nothing that was written becomes more than text, and nothing of it makes the page wider.
#[test]
fn texts_that_nobody_should_write_are_shown_as_they_are() {
    let Some(mut browser) = Browser::start() else { return };
    let place = ReportProject::with(&Story::hostile());
    let page = place.page();
    check(&mut browser, &page, 9);
    check_printed(&mut browser, &page);
    let scripts = browser
        .ask("document.querySelectorAll('script, img, iframe, link:not([rel=icon])').length");
    assert_eq!(scripts, 0);
    assert!(fs::metadata(&page).unwrap().len() < 400_000);
}

#[test]
fn an_orchestrated_session_can_be_read_on_any_screen() {
    let Some(mut browser) = Browser::start() else { return };
    let place = ReportProject::with_session();
    let page = place.at("page.html");
    place.done(&["report", "--id", ReportProject::SESSION, "--html", page.to_str().unwrap()]);
    let looks = check(&mut browser, &page, 3);
    assert_eq!(looks[0]["after"], 3);
}

#[test]
fn a_refinement_can_be_read_on_any_screen() {
    let Some(mut browser) = Browser::start() else { return };
    for refined in [Refined::told(), Refined::of_tasks(), Refined::hostile()] {
        let place = ReportProject::with_refinement(&refined);
        let page = place.page_of_refinement();
        check(&mut browser, &page, 0);
        check_printed(&mut browser, &page);
        let rounds = refined.session.history.len();
        let asked = browser.ask(
            "[document.querySelectorAll('.proof').length, document.querySelectorAll('.spent li').length, \
             document.querySelectorAll('script, img, iframe').length]",
        );
        assert_eq!(asked, json!([rounds, rounds + 1, 0]));
    }
}

/// The page of the demo, whose loop real hooks have driven.
#[test]
fn the_demos_loop_has_a_page() {
    let Some(mut browser) = Browser::start() else { return };
    let place = ReportProject::new();
    let scratch = demo(&place);
    let archive = scratch.join("home/ralph/archive");
    let folder = fs::read_dir(archive).unwrap().next().unwrap().unwrap().file_name();
    let id = folder.to_str().unwrap().splitn(4, '_').nth(3).unwrap().to_owned();
    let page = place.at("demo.html");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ralph"));
    command.args(["report", &id, "--html"]).arg(&page).env_clear();
    command.env("HOME", place.at("home")).env("RALPH_HOME", scratch.join("home/ralph"));
    command.env("PATH", std::env::var_os("PATH").unwrap()).current_dir(scratch.join("project"));
    let done = command.output().unwrap();
    assert!(done.status.success(), "{done:?}");
    check(&mut browser, &page, 0);
    let said = browser.ask("document.body.innerText");
    let said = said.as_str().unwrap();
    for words in ["greet by name", "complete", "3 of 5", "sh test.sh", "checkpoint 2"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

/// The folder of a demo that was kept, within the place.
fn demo(place: &ReportProject) -> PathBuf {
    fs::create_dir(place.at("tmp")).unwrap();
    let mut command = Command::new(crate::executables::executables().join("ralph"));
    command.args(["demo", "--keep"]).env_clear().current_dir(place.at("project"));
    command.env("HOME", place.at("home")).env("TMPDIR", place.at("tmp"));
    command.env("PATH", std::env::var_os("PATH").unwrap());
    let played = command.output().unwrap();
    assert!(played.status.success(), "{played:?}");
    fs::read_dir(place.at("tmp")).unwrap().next().unwrap().unwrap().path()
}
