use super::*;

const BIN: Location<'_> = Location::Folder("/opt/ralph/bin");

#[track_caller]
fn with(text: &str, block_cap: Option<u32>, named: &[Extra]) -> Merged {
    let asked = AskedExtras { block_cap, named: named.to_vec() };
    put_in(text, BIN, &asked, &Extras::default()).unwrap()
}

#[track_caller]
fn with_hooks(text: &str) -> Merged {
    with(text, None, &[])
}

/// What is left without everything of Ralph's.
#[track_caller]
fn without(merged: &Merged) -> String {
    take_out(&merged.text, &merged.extras).unwrap().text
}

/// Checks that adding again changes nothing and that removing restores the text.
#[track_caller]
fn there_and_back(text: &str) -> String {
    let merged = with_hooks(text);
    assert!(!merged.changes.is_empty());
    let value: Value = serde_json::from_str(&merged.text).unwrap();
    for (event, _) in settings_hooks(BIN).as_object().unwrap() {
        assert!(value["hooks"][event].is_array(), "{event} in {}", merged.text);
    }
    let again = with_hooks(&merged.text);
    assert_eq!((again.text.as_str(), again.changes.as_slice()), (merged.text.as_str(), &[][..]));
    assert_eq!(without(&merged), text);
    merged.text
}

#[test]
fn other_keys_keep_their_order_and_values() {
    let text = "{\n  \"z\": 1.5,\n  \"a\": [\n    \"\\n\",\n    {}\n  ],\n  \"u\": \"é\"\n}\n";
    let merged = there_and_back(text);
    assert!(merged.starts_with(text.trim_end().trim_end_matches('}').trim_end()), "{merged}");
}

#[test]
fn hooks_of_other_people_stay_first() {
    let text = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
        "Notification": [{"hooks": []}]}, "model": "opus"}"#;
    let merged = with_hooks(text);
    let value: Value = serde_json::from_str(&merged.text).unwrap();
    assert_eq!(value["hooks"]["Stop"][0]["hooks"][0]["command"], "say done");
    assert_eq!(value["hooks"]["Stop"].as_array().unwrap().len(), 3, "two of them are ours");
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap().to_string();
    assert_eq!(parsed(&without(&merged)), parsed(text));
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
    let none = (&AskedExtras::default(), &Extras::default());
    let old = put_in("{}", Location::Folder("/old"), none.0, none.1).unwrap().text;
    let new = with_hooks(&old);
    assert!(!new.text.contains("/old/"));
    assert!(new.changes.iter().all(|change| change.what == "replace older hooks of Ralph"));
    assert_eq!(new.text.matches("ralph-pre-tool-use").count(), 3, "for three events");
}

#[test]
fn an_entry_of_ours_at_an_event_we_no_longer_use_is_removed() {
    let text = r#"{"hooks":{"Notification":[{"hooks":[{"type":"command","command":"/x/ralph-stop-hook","args":["settings"]}]}]}}"#;
    let merged = with_hooks(text);
    assert!(merged.changes.contains(&SettingsChange::new("remove hooks", "Notification")));
    assert!(!merged.text.contains("Notification"));
}

#[test]
fn other_hooks_in_the_same_group_stay_when_ours_leave() {
    let text = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"},{"type":"command","command":"/x/ralph-stop-hook","args":["settings"]}]}]}}"#;
    let value: Value =
        serde_json::from_str(&take_out(text, &Extras::default()).unwrap().text).unwrap();
    assert_eq!(value, json!({"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]}}));
}

#[test]
fn a_plugin_copy_or_another_program_is_not_ours() {
    let text = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"/x/ralph-stop-hook","args":["plugin"]},{"type":"command","command":"notify","args":["settings"]}]}]}}"#;
    let out = take_out(text, &Extras::default()).unwrap();
    assert_eq!((out.text.as_str(), out.changes.len()), (text, 0));
}

#[test]
fn a_shell_line_of_ours_is_recognised() {
    let entry = json!({"type":"command","command":"\"/x/ralph-stop-hook\" settings"});
    assert!(is_ours(&entry, Origin::Settings));
}

#[test]
fn the_cap_is_written_on_request_and_taken_out_only_if_it_is_still_ours() {
    let text = "{\n  \"env\": {\n    \"A\": \"b\"\n  }\n}\n";
    let mut merged = with(text, Some(30), &[]);
    let value: Value = serde_json::from_str(&merged.text).unwrap();
    assert_eq!(value["env"], json!({"A": "b", BLOCK_CAP: "30"}));
    assert!(merged.changes.contains(&SettingsChange::new("set the block cap", 30)));
    assert_eq!(without(&merged), text);
    assert!(take_out(&merged.text, &Extras::default()).unwrap().text.contains(BLOCK_CAP));
    merged.text = merged.text.replace("30", "12");
    assert!(without(&merged).contains(BLOCK_CAP));
}

#[test]
fn what_workers_begin_from_is_written_on_request_and_taken_out_only_if_it_is_still_ours() {
    let text = "{\n  \"worktree\": {\n    \"sparsePaths\": []\n  }\n}\n";
    let mut merged = with(text, None, &[Extra::WorkerBase]);
    let value: Value = serde_json::from_str(&merged.text).unwrap();
    assert_eq!(value["worktree"], json!({"sparsePaths": [], "baseRef": "head"}));
    assert!(merged.changes.contains(&SettingsChange::new("start workers from", "head")));
    assert_eq!(without(&merged), text);
    assert!(take_out(&merged.text, &Extras::default()).unwrap().text.contains("baseRef"));
    merged.text = merged.text.replace("\"head\"", "\"fresh\"");
    assert!(without(&merged).contains("fresh"));
}

#[test]
fn what_a_person_has_said_of_it_is_kept_and_not_recorded_as_ours() {
    for theirs in ["\"fresh\"", "\"head\"", "null"] {
        let text = format!("{{\"worktree\": {{\"baseRef\": {theirs}}}}}");
        let merged = with(&text, None, &[Extra::WorkerBase]);
        assert!(merged.text.contains(&format!("\"baseRef\": {theirs}")), "{}", merged.text);
        assert_eq!(merged.extras, Extras::default(), "{theirs}");
    }
}

#[test]
fn what_we_wrote_is_remembered_until_it_is_changed() {
    let merged = with("{}", Some(30), &[Extra::WorkerBase, Extra::Sandbox, Extra::Statusline]);
    let again = |text: &str| put_in(text, BIN, &AskedExtras::default(), &merged.extras).unwrap();
    assert_eq!(again(&merged.text).extras, merged.extras);
    assert_eq!(again(&merged.text).changes, []);
    let mut text = merged.text.clone();
    for (ours, theirs) in [
        ("\"head\"", "\"fresh\""),
        ("\"30\"", "\"3\""),
        ("\"ralph *\"", "\"x\""),
        ("ralph statusline", "mine"),
    ] {
        assert!(text.contains(ours), "{ours} in {text}");
        text = text.replace(ours, theirs);
    }
    assert_eq!(again(&text).extras, Extras::default());
}

#[track_caller]
fn refuses(text: &str, expected: &str) {
    let asked = AskedExtras { block_cap: Some(1), named: vec![Extra::WorkerBase] };
    let error = put_in(text, BIN, &asked, &Extras::default()).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
    assert!(error.contains("nothing was changed"), "{error}");
}

#[test]
fn what_cannot_be_read_for_certain_is_refused() {
    refuses("{\n  \"a\": 1,\n  oops\n}", "line 3, column 3");
    refuses("{\"a\": 1 /* why */}", "line 1");
    refuses("{\"a\": 1,}", "line 1");
    refuses("[]", "not a JSON object");
    refuses(r#"{"hooks": []}"#, "`hooks` is not an object");
    refuses(r#"{"hooks": {"Stop": {}}}"#, "`hooks.Stop` is not a list");
    refuses(r#"{"env": []}"#, "`env` is not an object");
    refuses(r#"{"worktree": "head"}"#, "`worktree` is not an object");
}

#[test]
fn an_empty_file_counts_as_empty_settings() {
    assert!(with_hooks("\n").text.contains("ralph-stop-hook"));
}
