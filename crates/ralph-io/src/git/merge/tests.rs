//! Tests merges that were killed, or that git refuses.

use super::*;
use crate::process::sandbox::Sandbox;
use std::fs;

/// A repository whose next commit changes `tracked`, adds `new/one` and removes `src/a.rs`.
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
    fn recover(&self) -> Option<Intent> {
        recover(&self.place).unwrap()
    }

    #[track_caller]
    fn is_merged(&self) {
        assert_eq!(self.sandbox.git("status --porcelain"), "");
        assert_eq!(self.sandbox.git("rev-parse HEAD").trim(), self.intent.merged);
        assert_eq!(self.sandbox.read("new/one"), "new text\n");
    }
}

#[test]
fn a_merge_that_had_not_moved_the_branch_is_dropped() {
    let killed = killed();
    assert_eq!(killed.recover(), None);
    assert!(!killed.place.git_dir.join("ralph-merge").exists());
    assert_eq!(killed.sandbox.git("status --porcelain"), "");
    assert_eq!(killed.sandbox.git("rev-parse HEAD").trim(), killed.intent.base);
}

#[test]
fn a_merge_that_had_moved_the_branch_is_found_until_it_is_written_down() {
    let killed = killed();
    killed.sandbox.git(&format!("merge -q --ff-only {}", killed.intent.merged));
    for _ in 0..2 {
        assert_eq!(killed.recover(), Some(killed.intent.clone()));
    }
    done(&killed.place).unwrap();
    assert_eq!(killed.recover(), None);
    killed.is_merged();
}

#[test]
fn who_went_on_from_there_is_left_alone() {
    let killed = killed();
    killed.sandbox.git("commit -q --allow-empty -m person");
    killed.sandbox.write("tracked", "merged text\n");
    assert_eq!(killed.recover(), None);
    assert_eq!(killed.sandbox.read("tracked"), "merged text\n");
}

#[test]
fn of_many_files_in_the_way_those_are_named_that_git_names_completely() {
    let mut killed = killed();
    let names: Vec<String> =
        (0..60).map(|number| format!("new/{number:02}-{}", "x".repeat(60))).collect();
    killed.sandbox.git(&format!("reset -q --hard {}", killed.intent.merged));
    names.iter().for_each(|name| killed.sandbox.write(name, "merged"));
    killed.sandbox.commit("many");
    killed.intent.merged = killed.sandbox.git("rev-parse HEAD").trim().to_owned();
    killed.sandbox.git(&format!("reset -q --hard {}", killed.intent.base));
    names.iter().for_each(|name| killed.sandbox.write(name, "in no commit"));
    let moved = forward(&killed.place, &killed.intent).unwrap();
    let Moved::InTheWay { files, and_others: true } = moved else { panic!("{moved:?}") };
    assert!(files.len() > 20 && names.starts_with(&files), "{files:?}");
}

#[test]
fn a_lock_of_the_index_that_is_not_ours_stays() {
    let killed = killed();
    let lock = killed.place.git_dir.join("index.lock");
    fs::write(&lock, "another git's").unwrap();
    let error = forward(&killed.place, &killed.intent).unwrap_err().to_string();
    assert!(error.contains("another git runs"), "{error}");
    assert!(lock.exists());
}

#[test]
fn a_merge_whose_branch_could_not_be_moved_is_completed_by_the_next() {
    let killed = killed();
    fs::write(killed.place.git_dir.join("refs/heads/main.lock"), "").unwrap();
    let error = format!("{:#}", forward(&killed.place, &killed.intent).unwrap_err());
    assert!(error.contains("could not move the loop to what was merged"), "{error}");
    fs::remove_file(killed.place.git_dir.join("refs/heads/main.lock")).unwrap();
    assert_eq!(killed.recover(), None);
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
    // A process that another test starts at this moment holds the file until it calls exec.
    lock(&home, &sandbox.root(), Duration::from_secs(5)).unwrap();
}
