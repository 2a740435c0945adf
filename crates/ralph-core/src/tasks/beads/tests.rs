use super::*;

#[test]
fn all_forms_of_an_answer_are_read_and_what_is_none_is_said() {
    let bead = r#"{"id":"bd-1","title":"x"}"#;
    for (printed, count) in [
        (format!("[{bead},{bead}]"), 2),
        (bead.to_owned(), 1),
        (format!(r#"{{"schema_version":1,"data":[{bead}]}}"#), 1),
        (format!(r#"{{"schema_version":1,"items":[{bead}]}}"#), 1),
        (format!(r#"{{"schema_version":1,"data":{bead}}}"#), 1),
        (r#"{"schema_version":1,"id":"bd-1","title":"x"}"#.to_owned(), 1),
        ("[]".to_owned(), 0),
        (r#"{"schema_version":1,"data":null}"#.to_owned(), 0),
    ] {
        assert_eq!(read(&printed).map(|beads| beads.len()), Ok(count), "{printed}");
    }
    assert_eq!(read(" \n"), Err("it printed nothing instead of JSON".to_owned()));
    for (printed, why) in [
        ("No issues found", "`No issues found`"),
        (r#"[{"id":"bd-1"} "#, "is no list of beads"),
        (r#"[{"title":"x"}]"#, "one has no `id`"),
        (r#"[{"id":7}]"#, "invalid type"),
        (r#"[3]"#, "invalid type"),
    ] {
        let said = read(printed).unwrap_err();
        assert!(said.contains(why), "{printed}: {said}");
    }
}

#[test]
fn bds_own_words_are_found_wherever_it_puts_them() {
    for (stdout, stderr, expected) in [
        (r#"{"error":"no issue","schema_version":1}"#, "", "no issue"),
        (r#"{"schema_version":1,"data":{"error":"no issue","hint":"x"}}"#, "warning", "no issue"),
        (
            "",
            "{\n  \"error\": \"failed to claim\",\n  \"schema_version\": 1\n}\n",
            "failed to claim",
        ),
        ("", "{\n \"error\": \"held\"\n}\n{\"error\":\"1 of 1 failed\"}\n", "held"),
        ("", "Error: operation not allowed\n", "operation not allowed"),
        (
            "",
            "Error claiming a: issue already claimed by bob\n{\"error\":\"1 of 1 issues failed\"}\n",
            "Error claiming a: issue already claimed by bob",
        ),
        ("[]", " \n", "it gave no reason"),
        (r#"{"error":" "}"#, "", "it gave no reason"),
    ] {
        assert_eq!(said(stdout, stderr), expected);
    }
}
