use super::*;

#[test]
fn all_forms_of_an_answer_are_read_and_what_is_none_is_said() {
    let bead = r#"{"id":"bd-1","title":"x"}"#;
    for (printed, count) in [
        (format!("[{bead},{bead}]"), 2),
        (bead.to_owned(), 1),
        (r#"{"id":"bd-1","title":"x","data":[]}"#.to_owned(), 1),
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

#[test]
fn a_bead_lacks_the_dependencies_that_were_counted_and_not_printed() {
    let lacks = |dependencies: Option<Vec<Dependency>>, dependency_count| {
        Bead { dependencies, dependency_count, ..Bead::default() }.lacks_dependencies()
    };
    assert!(lacks(None, Some(1)));
    assert!(!lacks(None, Some(0)));
    assert!(!lacks(None, None));
    assert!(!lacks(Some(Vec::new()), Some(1)));
}

#[test]
fn a_dependency_is_a_record_or_the_other_bead_itself() {
    for (text, on, kind) in [
        (r#"{"depends_on_id":"bd-2","type":"related","id":"x"}"#, "bd-2", "related"),
        (r#"{"id":"bd-3","dependency_type":"parent-child"}"#, "bd-3", "parent-child"),
        (r#"{"id":"bd-3"}"#, "bd-3", PLAIN),
        ("{}", "", "blocks"),
    ] {
        let read: Dependency = serde_json::from_str(text).unwrap();
        assert_eq!((read.on(), read.kind()), (on, kind), "{text}");
    }
    for (status, word, expected) in [
        (None, "open", true),
        (Some(""), "open", true),
        (Some("closed"), "closed", true),
        (Some("closed"), "open", false),
    ] {
        let bead = Bead { status: status.map(str::to_owned), ..Bead::default() };
        assert_eq!(bead.is(word), expected, "{status:?}");
    }
}

#[test]
fn an_answer_that_is_no_list_is_quoted_in_whole_up_to_its_bound() {
    let begins = "it printed what is no list of beads (one has no `id`): ";
    assert_eq!(read("[{}]").unwrap_err(), format!("{begins}`[{{}}]`"));
    let long = format!("  [{{\"title\":\"{}\"}}]", "x".repeat(200));
    assert_eq!(read(&long).unwrap_err(), format!("{begins}`[{{\"title\":\"{}`", "x".repeat(89)));
    let lines = "a\n\nError: b\nc\nd\ne\n{\"error\":\"f\"}\ng";
    assert_eq!(said("", lines), "a; b; c; d");
}
