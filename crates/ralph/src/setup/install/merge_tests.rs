use super::super::extras::BLOCK_CAP;
use super::*;
use ralph_core::protocol::registration::{Location, settings_hooks};

fn wanted() -> Registered {
    settings_hooks(Location::Folder("/opt/ralph/bin"))
}

fn capped(cap: u32) -> Extras {
    Extras { block_cap: Some(cap), ..Extras::default() }
}

fn from_head() -> Extras {
    Extras { worker_base: Some(WorkerBase::Head), ..Extras::default() }
}

/// Checks that adding again changes nothing and that removing restores the text.
#[track_caller]
fn there_and_back(text: &str) -> String {
    let merged = put_in(text, &wanted(), &Extras::default()).unwrap();
    assert!(!merged.changes.is_empty());
    let value: Value = serde_json::from_str(&merged.text).unwrap();
    for (event, _) in wanted().events() {
        assert!(value["hooks"][event].is_array(), "{event} in {}", merged.text);
    }
    let again = put_in(&merged.text, &wanted(), &Extras::default()).unwrap();
    assert_eq!((again.text.as_str(), again.changes.as_slice()), (merged.text.as_str(), &[][..]));
    assert_eq!(take_out(&merged.text, &Extras::default()).unwrap().text, text);
    merged.text
}

#[test]
fn other_keys_keep_their_text_order_and_odd_formatting() {
    let text = "{\n  \"z\": 1e2,\n  \"a\": [1,2,   3],\n\n  \"big\": 123456789012345678901234567890,\n  \"u\": \"\\u00e9\"\n}\n";
    let merged = there_and_back(text);
    assert!(merged.starts_with(text.trim_end().trim_end_matches('}').trim_end()), "{merged}");
}

#[test]
fn hooks_of_other_people_stay_first_and_as_they_are() {
    let text = r#"{
  "hooks": {
    "Stop": [
      { "hooks": [ { "type": "command", "command": "say done" } ] }
    ],
    "Notification": [{"hooks": []}]
  },
  "model": "opus"
}
"#;
    let merged = there_and_back(text);
    let value: Value = serde_json::from_str(&merged).unwrap();
    assert_eq!(value["hooks"]["Stop"][0]["hooks"][0]["command"], "say done");
    assert_eq!(value["hooks"]["Stop"].as_array().unwrap().len(), 3, "two of them are ours");
    assert!(merged.contains(r#"{ "hooks": [ { "type": "command", "command": "say done" } ] }"#));
}

#[test]
fn the_indentation_of_the_file_is_followed() {
    let four = there_and_back("{\n    \"a\": {\n        \"b\": 1\n    }\n}");
    assert!(
        four.contains("\n    \"hooks\": {\n        \"SessionStart\": [\n            {\n"),
        "{four}"
    );
    assert!(!four.ends_with('\n'));
    let tabs = there_and_back("{\n\t\"a\": true\n}\n");
    assert!(tabs.contains("\n\t\"hooks\": {\n\t\t\"SessionStart\": [\n\t\t\t{\n"), "{tabs}");
}

#[test]
fn windows_line_ends_are_followed() {
    let merged = there_and_back("{\r\n  \"a\": 1\r\n}\r\n");
    assert_eq!(merged.matches('\n').count(), merged.matches("\r\n").count());
}

#[test]
fn an_upgrade_replaces_the_entries_of_an_older_place() {
    let old =
        put_in("{}", &settings_hooks(Location::Folder("/old")), &Extras::default()).unwrap().text;
    let new = put_in(&old, &wanted(), &Extras::default()).unwrap();
    assert!(!new.text.contains("/old/"));
    assert!(new.changes.iter().all(|change| matches!(change, SettingsChange::Replaced(_))));
    assert_eq!(new.text.matches("ralph-pre-tool-use").count(), 3, "for three events");
}

#[test]
fn an_entry_of_ours_at_an_event_we_no_longer_use_is_removed() {
    let text = r#"{"hooks":{"Notification":[{"hooks":[{"type":"command","command":"/x/ralph-stop-hook","args":["settings"]}]}]}}"#;
    let merged = put_in(text, &wanted(), &Extras::default()).unwrap();
    assert!(merged.changes.contains(&SettingsChange::Removed("Notification".into())));
    assert!(!merged.text.contains("Notification"));
}

#[test]
fn other_hooks_in_the_same_group_stay_when_ours_leave() {
    let text = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"},{"type":"command","command":"/x/ralph-stop-hook","args":["settings"]}]}]}}"#;
    let value: Value =
        serde_json::from_str(&take_out(text, &Extras::default()).unwrap().text).unwrap();
    assert_eq!(
        value,
        serde_json::json!({"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]}})
    );
}

#[test]
fn a_plugin_copy_or_another_program_is_not_ours() {
    let text = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"/x/ralph-stop-hook","args":["plugin"]},{"type":"command","command":"notify","args":["settings"]}]}]}}"#;
    assert_eq!(
        take_out(text, &Extras::default()).unwrap(),
        Merged { text: text.into(), changes: vec![] }
    );
}

#[test]
fn a_shell_line_of_ours_is_recognised() {
    let entry = serde_json::json!({"type":"command","command":"\"/x/ralph-stop-hook\" settings"});
    assert!(is_ours(&entry));
}

#[test]
fn the_cap_is_written_on_request_and_taken_out_only_if_it_is_still_ours() {
    let merged =
        put_in("{\n  \"env\": {\n    \"A\": \"b\"\n  }\n}\n", &wanted(), &capped(30)).unwrap();
    let value: Value = serde_json::from_str(&merged.text).unwrap();
    assert_eq!(value["env"], serde_json::json!({"A": "b", BLOCK_CAP: "30"}));
    assert!(merged.changes.contains(&SettingsChange::CapSet(30)));
    let out = take_out(&merged.text, &capped(30)).unwrap().text;
    assert_eq!(out, "{\n  \"env\": {\n    \"A\": \"b\"\n  }\n}\n");
    assert!(take_out(&merged.text, &capped(12)).unwrap().text.contains(BLOCK_CAP));
    assert!(take_out(&merged.text, &Extras::default()).unwrap().text.contains(BLOCK_CAP));
}

#[test]
fn what_workers_begin_from_is_written_on_request_and_taken_out_only_if_it_is_still_ours() {
    let text = "{\n  \"worktree\": {\n    \"sparsePaths\": []\n  }\n}\n";
    let merged = put_in(text, &wanted(), &from_head()).unwrap();
    let value: Value = serde_json::from_str(&merged.text).unwrap();
    let expected = serde_json::json!({"sparsePaths": [], "baseRef": "head"});
    assert_eq!(value["worktree"], expected);
    assert!(merged.changes.contains(&SettingsChange::BaseSet(WorkerBase::Head)));
    assert_eq!(take_out(&merged.text, &from_head()).unwrap().text, text);
    let changed = merged.text.replace("\"head\"", "\"fresh\"");
    assert!(take_out(&changed, &from_head()).unwrap().text.contains("fresh"));
    assert!(take_out(&merged.text, &Extras::default()).unwrap().text.contains("baseRef"));
}

#[test]
fn what_a_person_has_said_of_it_is_kept_and_not_recorded_as_ours() {
    for theirs in ["\"fresh\"", "\"head\"", "null"] {
        let text = format!("{{\"worktree\": {{\"baseRef\": {theirs}}}}}");
        let merged = put_in(&text, &wanted(), &from_head()).unwrap();
        assert!(merged.text.contains(&format!("\"baseRef\": {theirs}")), "{}", merged.text);
        let recorded = extras::to_record(&merged, &from_head(), &Extras::default()).unwrap();
        assert_eq!(recorded, Extras::default(), "{theirs}");
    }
}

#[test]
fn what_we_wrote_is_remembered_until_it_is_changed() {
    let merged = put_in("{}", &wanted(), &from_head()).unwrap();
    let nothing = Extras::default();
    assert_eq!(extras::to_record(&merged, &from_head(), &nothing).unwrap(), from_head());
    let again = put_in(&merged.text, &wanted(), &nothing).unwrap();
    assert_eq!(extras::to_record(&again, &nothing, &from_head()).unwrap(), from_head());
    let text = merged.text.replace("\"head\"", "\"fresh\"");
    let changed = put_in(&text, &wanted(), &nothing).unwrap();
    assert_eq!(extras::to_record(&changed, &nothing, &from_head()).unwrap(), nothing);
}

#[track_caller]
fn refuses(text: &str, expected: &str) {
    let extras = Extras { worker_base: Some(WorkerBase::Head), ..capped(1) };
    let error = put_in(text, &wanted(), &extras).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
    assert!(error.contains("nothing was changed"), "{error}");
}

#[test]
fn what_cannot_be_read_for_certain_is_refused() {
    refuses("{\n  \"a\": 1,\n  oops\n}", "line 3, column 3");
    refuses("{\"a\": 1 /* why */}", "line 1");
    refuses("{\"a\": 1,}", "line 1");
    refuses("[]", "not a JSON object");
    refuses(r#"{"hooks": {}, "hooks": {}}"#, "`hooks` is there twice");
    refuses(r#"{"permissions": {"allow": [], "allow": []}}"#, "`permissions.allow` is there twice");
    refuses(r#"{"hooks": []}"#, "`hooks` is not an object");
    refuses(r#"{"hooks": {"Stop": {}}}"#, "`hooks.Stop` is not a list");
    refuses(r#"{"env": []}"#, "`env` is not an object");
    refuses(r#"{"worktree": "head"}"#, "`worktree` is not an object");
}

#[test]
fn an_empty_file_counts_as_empty_settings() {
    assert!(put_in("\n", &wanted(), &Extras::default()).unwrap().text.contains("ralph-stop-hook"));
}
