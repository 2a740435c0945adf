//! The pictures in the guide are of pages as they are: `RALPH_UPDATE_PICTURES=1` takes them anew. Other fonts make
//! other pictures, so they are not compared; that they are there, and small, is.

use super::browser::Browser;
use super::project::ReportProject;
use super::story::Story;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const LARGEST: usize = 200 << 10;

/// The name of its file, what it shows, and its scheme.
type Picture = (&'static str, fn() -> Story, &'static str);

const PICTURES: [Picture; 2] =
    [("report-light.png", Story::told, "light"), ("report-dark.png", Story::given_up, "dark")];

/// Down to the end of the third card, which has the tasks.
const SHOWN: &str =
    "Math.ceil(document.querySelectorAll('.card')[2].getBoundingClientRect().bottom) + 9";

#[test]
fn the_pictures_of_the_guide_are_there_and_small() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images");
    let update = std::env::var_os("RALPH_UPDATE_PICTURES").is_some();
    for (name, story, scheme) in PICTURES {
        let path = folder.join(name);
        if update {
            let mut browser = Browser::start().expect("a picture needs a browser");
            let place = ReportProject::with(&story());
            browser.open(&place.page(), 1_080, scheme);
            fs::create_dir_all(&folder).unwrap();
            let height = browser.ask(SHOWN).as_u64().unwrap();
            fs::write(&path, of_base64(&browser.picture(height))).unwrap();
        }
        let picture = fs::read(&path).unwrap_or_default();
        assert!(picture.starts_with(b"\x89PNG"), "`{name}`: RALPH_UPDATE_PICTURES=1 takes it");
        assert!(picture.len() < LARGEST, "`{name}` has {} bytes", picture.len());
        let guide = folder.join("../report.md");
        assert!(fs::read_to_string(guide).unwrap().contains(&format!("(images/{name})")));
    }
}

/// Only where pictures are taken anew.
fn of_base64(text: &str) -> Vec<u8> {
    let mut command = Command::new("base64");
    let mut child = command.arg("-d").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut to = child.stdin.take().unwrap();
    let text = text.to_owned();
    let feeding = std::thread::spawn(move || to.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    feeding.join().unwrap().unwrap();
    output.stdout
}
