//! A project in which every file says the same, told as a page: whatever a repository holds, the page
//! keeps its bound, and nothing in it ends the fence or acts on a terminal. The same text as a signal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::project::project_facts::{FileFormat, KINDS, Project, page};
use ralph_core::project::reader::{EntryKind, Folder, FolderEntry, ProjectReader};
use ralph_core::state::signals;
use ralph_fuzz::is_plain;
use serde_json::Value;
use std::path::Path;

struct Same<'a>(&'a str);

impl ProjectReader for Same<'_> {
    fn root(&self) -> &Path {
        Path::new("/")
    }

    fn text(&self, _: &Path) -> Option<String> {
        Some(self.0.to_owned())
    }

    fn exists(&self, _: &Path) -> bool {
        true
    }

    fn folder(&self, path: &Path) -> Option<Folder> {
        let entry = |(at, line): (usize, &str)| {
            let kind = [EntryKind::File, EntryKind::Folder, EntryKind::Link][at % 3];
            let name = line.replace('/', "");
            (!name.is_empty()).then_some(FolderEntry { name, kind })
        };
        let entries = self.0.lines().take(40).enumerate().filter_map(entry).collect();
        let is_cut = self.0.len() % 2 == 0;
        (path.components().count() < 4).then_some(Folder { entries, is_cut })
    }
}

impl Project for Same<'_> {
    fn document(&self, _: &str, form: FileFormat) -> Option<Value> {
        ralph_io::store::fuzzing::document(self.0, form)
    }

    fn git_text(&self, _: &str) -> Option<String> {
        self.text("".as_ref())
    }

    fn main_work_tree(&self) -> Option<String> {
        self.text("".as_ref())
    }

    fn git(&self, _: &[&str]) -> Option<Vec<u8>> {
        Some(self.0.replace('\n', "\0").into_bytes())
    }
}

fn check_page(project: &Same<'_>, most: usize) {
    let facts: Vec<_> =
        KINDS.iter().filter_map(|kind| Some((*kind, (kind.gather)(project)?))).collect();
    let Some(text) = page::page(&facts, most) else { return };
    assert!(text.encode_utf16().count() <= most, "{most}: {text}");
    assert!(is_plain(&text), "{text:?}");
    let lines: Vec<&str> = text.lines().collect();
    let fence = lines[1];
    assert!(fence.len() >= 3 && fence.bytes().all(|byte| byte == b'`'), "{text}");
    let fences = lines.iter().filter(|line| line.trim_start().starts_with(fence)).count();
    assert_eq!(fences, 2, "{text}");
}

fn check_signal(text: &str) {
    let signal = signals::read(text, text);
    assert!(signal.text.encode_utf16().count() <= signals::LONGEST);
    if signals::refused(text).is_none() {
        let sent = signals::read("name", &signals::file(signal.kind, text));
        assert_eq!((sent.kind, sent.text.as_str()), (signal.kind, text.trim()));
    }
    assert!(
        signals::text_for_model(&[signal]).starts_with("The person who started the loop says:\n")
    );
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    for most in [600, page::TARGET, page::MOST] {
        check_page(&Same(&text), most);
    }
    check_signal(&text);
});
