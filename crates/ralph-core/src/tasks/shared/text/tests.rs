use super::*;

fn read<T: TryFrom<String>>(text: impl Into<String>) -> Option<T> {
    T::try_from(text.into()).ok()
}

#[test]
fn a_reader_accepts_whatever_a_writer_wrote() {
    for text in ["", "a\n\tb", "\u{1b}[31mred\u{202e}\r\n", &"😀".repeat(3_000), "né"] {
        let written = Text::new(text);
        assert_eq!(read::<Text>(written.as_str()), Some(written));
        let name = Name::new(text);
        assert_eq!(read::<Name>(name.as_str()), Some(name));
    }
}

#[test]
fn a_reader_refuses_a_text_out_of_bounds() {
    assert!(read::<Text>("x".repeat(LONGEST_TEXT)).is_some());
    assert!(read::<Text>("x".repeat(LONGEST_TEXT + 1)).is_none());
    for acting in ["\u{1b}", "a\rb", "\u{202e}", "\u{e0041}", "\0"] {
        assert!(read::<Text>(acting).is_none(), "{acting:?}");
    }
}

#[test]
fn a_reader_refuses_a_name_that_is_no_part_of_a_reference() {
    assert!(read::<Name>("x".repeat(LONGEST_NAME)).is_some());
    for name in [String::new(), "x".repeat(LONGEST_NAME + 1), "a/b".into(), "..".into(), "é".into()]
    {
        assert!(read::<Name>(name.clone()).is_none(), "{name}");
    }
    assert_eq!(Name::new("Kim's laptop").as_str(), "Kim-s-laptop");
}

#[test]
fn an_object_has_a_name_of_sha1_or_sha256() {
    assert!(read::<ObjectId>("0a".repeat(20)).is_some());
    assert!(read::<ObjectId>("0a".repeat(32)).is_some());
    for id in ["0a".repeat(21), "0A".repeat(20), "-x".repeat(20), String::new()] {
        assert!(read::<ObjectId>(id.clone()).is_none(), "{id}");
    }
}
