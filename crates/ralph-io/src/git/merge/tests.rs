//! Merges that were killed: each moment at which that can be, laid out by hand.

use super::*;
use crate::process::sandbox::Sandbox;
use std::fs;

/// A repository whose next commit changes `tracked`, adds `new/one`, and takes `src/a.rs` away.
struct Killed {
    sandbox: Sandbox,
    place: MergeTarget,
    intent: Intent,
}

fn killed() -> Killed {
    let sandbox = Sandbox::new();
    let base = sandbox.git("rev-parse HEAD").trim().to_owned();
    sandbox.write("tracked", "merged text\n");
    sandbox.write("new/one", "new text\n");
    sandbox.remove("src/a.rs");
    sandbox.commit("next");
    let merged = sandbox.git("rev-parse HEAD").trim().to_owned();
    sandbox.git("reset -q --hard HEAD^");
    let place = place(&sandbox.root()).unwrap().unwrap();
    let branch = place.branch.clone();
    let steps =
        vec![MergeStep { call: "c".to_owned(), commit: merged.clone(), merge: merged.clone() }];
    let intent = Intent { loop_id: "l".to_owned(), base, merged, branch, steps };
    fs::write(place.git_dir.join("ralph-merge"), serde_json::to_vec(&intent).unwrap()).unwrap();
    Killed { sandbox, place, intent }
}

impl Killed {
    /// With git's lock of the index, as the killed one held it.
    fn with_lock(self) -> Killed {
        let note = self.place.git_dir.join("ralph-merge");
        fs::hard_link(note, self.place.git_dir.join("index.lock")).unwrap();
        self
    }

    fn recover(&self) -> Recovered {
        recover(&self.place).unwrap()
    }

    #[track_caller]
    fn is_at_base(&self) {
        assert_eq!(self.sandbox.git("status --porcelain"), "");
        assert_eq!(self.sandbox.git("rev-parse HEAD").trim(), self.intent.base);
        assert_eq!(self.sandbox.read("tracked"), "one\n");
        assert!(self.sandbox.exists("src/a.rs") && !self.sandbox.exists("new"));
        self.has_no_lock();
        assert_eq!(self.recover(), Recovered::Nothing);
    }

    #[track_caller]
    fn is_merged(&self) {
        assert_eq!(self.sandbox.git("status --porcelain"), "");
        assert_eq!(self.sandbox.git("rev-parse HEAD").trim(), self.intent.merged);
        assert_eq!(self.sandbox.read("new/one"), "new text\n");
        self.has_no_lock();
    }

    #[track_caller]
    fn has_no_lock(&self) {
        assert!(!self.place.git_dir.join("index.lock").exists());
    }
}

#[test]
fn a_merge_that_had_written_no_file_is_dropped() {
    for killed in [killed(), killed().with_lock()] {
        assert_eq!(killed.recover(), Recovered::Undone);
        killed.is_at_base();
    }
}

#[test]
fn files_that_were_written_whole_in_part_or_not_yet_are_put_back() {
    for tracked in [Some("merged text\n"), Some("merged te"), Some(""), None] {
        for new in [Some("new text\n"), Some("new"), None] {
            let killed = killed().with_lock();
            killed.sandbox.remove("src/a.rs");
            killed.sandbox.remove("tracked");
            tracked.iter().for_each(|text| killed.sandbox.write("tracked", text));
            new.iter().for_each(|text| killed.sandbox.write("new/one", text));
            assert_eq!(killed.recover(), Recovered::Undone);
            killed.is_at_base();
        }
    }
}

#[test]
fn what_a_person_wrote_since_is_named_and_nothing_is_put_back_over_it() {
    for file in ["tracked", "new/one", "src/a.rs"] {
        let killed = killed().with_lock();
        killed.sandbox.write("tracked", "merged text\n");
        killed.sandbox.write("new/one", "new");
        killed.sandbox.write(file, "a person's\n");
        let before = killed.sandbox.git("status --porcelain");
        assert_eq!(killed.recover(), Recovered::InTheWay(vec![file.to_owned()]));
        assert_eq!(killed.sandbox.read(file), "a person's\n");
        assert_eq!(killed.sandbox.git("status --porcelain"), before);
        killed.has_no_lock();
        killed.sandbox.remove(file);
        assert_eq!(killed.recover(), Recovered::Undone);
        killed.is_at_base();
    }
}

#[test]
fn a_link_that_somebody_put_in_a_folders_place_is_not_followed() {
    let killed = killed().with_lock();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("one"), "new text\n").unwrap();
    killed.sandbox.link("new", elsewhere.path().to_str().unwrap());
    assert_eq!(killed.recover(), Recovered::Undone);
    assert!(elsewhere.path().join("one").exists());
}

#[test]
fn from_the_index_on_it_is_finished() {
    let killed = killed().with_lock();
    let move_all = ["read-tree", "-m", "-u", &killed.intent.base, &killed.intent.merged];
    fs::remove_file(killed.place.git_dir.join("index.lock")).unwrap();
    killed.sandbox.git(&move_all.join(" "));
    let killed = killed.with_lock();
    killed.sandbox.write("tracked", "merged text\nand a person's\n");
    assert_eq!(killed.recover(), Recovered::Finished(killed.intent.clone()));
    assert_eq!(killed.sandbox.read("tracked"), "merged text\nand a person's\n");
    killed.sandbox.git("checkout -q tracked");
    killed.is_merged();
    // Until it is written down it is found again.
    assert_eq!(killed.recover(), Recovered::Finished(killed.intent.clone()));
    done(&killed.place).unwrap();
    assert_eq!(killed.recover(), Recovered::Nothing);
}

#[test]
fn who_went_on_from_there_is_left_alone() {
    let killed = killed().with_lock();
    fs::remove_file(killed.place.git_dir.join("index.lock")).unwrap();
    killed.sandbox.git("commit -q --allow-empty -m person");
    killed.sandbox.write("tracked", "merged text\n");
    let killed = killed.with_lock();
    assert_eq!(killed.recover(), Recovered::Undone);
    assert_eq!(killed.sandbox.read("tracked"), "merged text\n");
    killed.has_no_lock();
}

#[test]
fn a_lock_of_the_index_that_is_not_ours_stays() {
    let killed = killed();
    fs::write(killed.place.git_dir.join("index.lock"), "another git's").unwrap();
    let error = recover(&killed.place).unwrap_err().to_string();
    assert!(error.contains("another git is at work"), "{error}");
    assert!(killed.place.git_dir.join("index.lock").exists());
}

#[test]
fn files_that_cannot_be_written_leave_everything_as_it_was() {
    let killed = killed();
    done(&killed.place).unwrap();
    let attributes = "new/one filter=broken\n";
    fs::create_dir_all(killed.place.git_dir.join("info")).unwrap();
    fs::write(killed.place.git_dir.join("info/attributes"), attributes).unwrap();
    killed.sandbox.git("config filter.broken.smudge false");
    killed.sandbox.git("config filter.broken.required true");
    let error = format!("{:#}", forward(&killed.place, &killed.intent).unwrap_err());
    assert!(error.contains("nothing was changed"), "{error}");
    assert_eq!(killed.recover(), Recovered::Undone);
    killed.is_at_base();
}

#[test]
fn a_branch_that_cannot_be_moved_leaves_everything_as_it_was() {
    let killed = killed();
    done(&killed.place).unwrap();
    fs::write(killed.place.git_dir.join("refs/heads/main.lock"), "").unwrap();
    let error = format!("{:#}", forward(&killed.place, &killed.intent).unwrap_err());
    assert!(error.contains("nothing was changed"), "{error}");
    fs::remove_file(killed.place.git_dir.join("refs/heads/main.lock")).unwrap();
    assert_eq!(killed.recover(), Recovered::Undone);
    killed.is_at_base();
    assert_eq!(forward(&killed.place, &killed.intent).unwrap(), Moved::Forward);
    killed.is_merged();
}

#[test]
fn a_second_merge_of_the_project_waits_until_its_deadline_and_says_what_to_do() {
    let sandbox = Sandbox::new();
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path().join("home"));
    let held = lock(&home, &sandbox.root(), Duration::from_millis(5)).unwrap();
    let error =
        format!("{:#}", lock(&home, &sandbox.root(), Duration::from_millis(5)).unwrap_err());
    assert!(error.contains("run `ralph parallel merge` again when it is done"), "{error}");
    lock(&home, &Sandbox::new().root(), Duration::from_millis(5)).unwrap();
    drop(held);
    // A process that another test starts at this moment holds the file until it is executed.
    lock(&home, &sandbox.root(), Duration::from_secs(5)).unwrap();
}
