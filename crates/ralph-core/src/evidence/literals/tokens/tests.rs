use super::*;

/// Each token as its kind and its text; a line that ends is `↵`, with what belongs to it.
fn shown(path: &str, text: &str) -> Vec<String> {
    let found = tokens(text, Syntax::for_path(path)).into_iter().map(|token| {
        let text = &text[token.range];
        match token.kind {
            TokenKind::Word => format!("w {text}"),
            TokenKind::Number => format!("n {text}"),
            TokenKind::Text => format!("t {text}"),
            TokenKind::Mark => text.to_owned(),
            TokenKind::Break => format!("↵{}", &text[1..]),
        }
    });
    found.collect()
}

#[track_caller]
fn check(path: &str, text: &str, expected: &[&str]) {
    assert_eq!(shown(path, text), expected, "{path}: {text}");
}

#[test]
fn a_language_is_known_by_the_extension() {
    let of = |path: &str| {
        let it = Syntax::for_path(path);
        let flags = [
            (it.hash, "hash"),
            (it.slashes, "slashes"),
            (it.characters, "characters"),
            (it.is_shell, "shell"),
            (it.capitals_build, "capitals"),
            (it.is_rust, "rust"),
            (it.spans_lines, "lines"),
        ];
        let set = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, name)| name);
        set.collect::<Vec<_>>().join(" ")
    };
    for (extensions, expected) in [
        (&["py", "r", "jl", "nim", "cmake", "txt"][..], "hash capitals"),
        (&["rb", "pl", "t", "ex", "exs"], "hash capitals lines"),
        (&["php"], "hash slashes capitals lines"),
        (&["sh", "bash", "zsh", "bats", "mk"], "hash shell capitals lines"),
        (&["rs"], "slashes characters capitals rust lines"),
        (
            &[
                "c", "h", "cc", "cpp", "cxx", "hpp", "java", "kt", "kts", "scala", "zig", "d", "m",
                "mm",
            ],
            "slashes characters capitals",
        ),
        (&["go", "cs"], "slashes characters"),
        (&["js", "ts", "tsx", "swift", "unknown"], "slashes capitals"),
    ] {
        for extension in extensions {
            assert_eq!(of(&format!("a.d/b.c.{extension}")), expected, "{extension}");
        }
    }
    assert_eq!(of("a.py/Makefile"), "hash shell capitals lines");
}

#[test]
fn words_marks_and_lines_are_told_apart() {
    check("a.js", "a_1$ é\u{a0}b\n\\\n  c", &["w a_1$", "w é", "w b", "↵", "w c"]);
    check(
        "a.js",
        "===!====!=<=>==>->::&&||:==~=<>!~",
        &[
            "===", "!==", "==", "!=", "<=", ">=", "=>", "->", "::", "&&", "||", ":=", "=~", "=",
            "<", ">", "!", "~",
        ],
    );
    check("a.js", "§a→", &["§", "w a", "→"]);
}

#[test]
fn what_begins_a_comment_depends_on_the_language() {
    check(
        "a.py",
        "a#b\nc # d\n#[e] f\ng // h",
        &["w a", "↵", "w c", "↵", "↵", "w g", "/", "/", "w h"],
    );
    check("a.sh", "a#b # c\n#d\n#[e\nf", &["w a", "#", "w b", "↵", "↵", "↵", "w f"]);
    check("a.php", "#[A] # b\n#c\nd // e\n", &["#", "[", "w A", "]", "↵", "↵", "w d", "↵"]);
    check("a.js", "a / b // c\n#d\n", &["w a", "/", "w b", "↵", "#", "w d", "↵"]);
    check("a.rs", "#[a] // b", &["#", "[", "w a", "]"]);
    check("a.js", "a /* b\n * c */ d /**/ e /*f*/", &["w a", "w d", "w e"]);
    check("a.js", "/*/ a */ b", &["w b"]);
    check("a.js", "a /* b", &["w a"]);
    check("a.js", "a */ b", &["w a", "*", "/", "w b"]);
    // Only Rust nests them.
    check("a.rs", "/* a /* b */ c */ d", &["w d"]);
    check("a.js", "/* a /* b */ c", &["w c"]);
    check("a.py", "a /* b */", &["w a", "/", "*", "w b", "*", "/"]);
}

#[test]
fn a_text_has_its_prefix_and_its_quotes() {
    check("a.py", "f'a' Rb\"b\" u'' ab'c'", &["t f'a'", "t Rb\"b\"", "t u''", "w ab", "t 'c'"]);
    check("a.cpp", "u8\"a\" L\"b\" xu8\"c\"", &["t u8\"a\"", "t L\"b\"", "w xu8", "t \"c\""]);
    check("a.py", "'a\\'b' \"\\é\\\\\" 'c", &["t 'a\\'b'", "t \"\\é\\\\\"", "'", "w c"]);
    check("a.py", "'a\\", &["'", "w a", "\\"]);
    check("a.js", "\"a\nb\"", &["\"", "w a", "↵", "w b", "\""]);
    check("a.js", "`a\nb` c", &["t `a\nb`", "w c"]);
    check("a.rs", "\"a\nb\" c", &["t \"a\nb\"", "w c"]);
    check("a.py", "f\"\"\"a \"b\"\n'c''\"\"\" d", &["t f\"\"\"a \"b\"\n'c''\"\"\"", "w d"]);
    check("a.py", "'''a\"\"\"b''' c '''", &["t '''a\"\"\"b'''", "w c", "'", "t ''"]);
    check("a.sh", "\"\"\"a\" b", &["t \"\"", "t \"a\"", "w b"]);
    // Nothing is escaped between the single quotes of a shell.
    check("a.sh", "'a\\' b \"c\\\"d\"", &["t 'a\\'", "w b", "t \"c\\\"d\""]);
    check("a.sh", "'a\nb' c", &["t 'a\nb'", "w c"]);
}

#[test]
fn a_character_is_no_lifetime_and_no_apostrophe() {
    check(
        "a.rs",
        "'a' 'é' '\\n' '\\'' '\\u{e9}' b'x' '\\\\'",
        &["t 'a'", "t 'é'", "t '\\n'", "t '\\''", "t '\\u{e9}'", "t b'x'", "t '\\\\'"],
    );
    check("a.rs", "<'a> 'b: 'cd'", &["<", "'", "w a", ">", "'", "w b", ":", "'", "w cd", "'"]);
    check("a.rs", "'' x", &["'", "'", "w x"]);
    for path in ["a.c", "a.rs"] {
        check(path, "'\n'", &["'", "↵", "'"]);
    }
    check("a.js", "'ab' ''", &["t 'ab'", "t ''"]);
}

#[test]
fn a_raw_text_of_rust_ends_with_as_many_hashes() {
    check("a.rs", "r\"a\\\" b", &["t r\"a\\\"", "w b"]);
    check("a.rs", "r#\"a\"b\"# c", &["t r#\"a\"b\"#", "w c"]);
    check(
        "a.rs",
        "br##\"a\"#b\"## c cr\"d\\\" e",
        &["t br##\"a\"#b\"##", "w c", "t cr\"d\\\"", "w e"],
    );
    check("a.rs", "r#type x", &["w r", "#", "w type", "w x"]);
    check("a.py", "r'a\\'b' c", &["t r'a\\'b'", "w c"]);
}

#[test]
fn an_interpolation_may_hold_texts_with_the_same_quotes() {
    check("a.js", "`${f({a: \"`\"})}` b", &["t `${f({a: \"`\"})}`", "w b"]);
    check("a.js", "`${\"}`\"}` b", &["t `${\"}`\"}`", "w b"]);
    check("a.js", "`a${`b${c}`}d` e", &["t `a${`b${c}`}d`", "w e"]);
    check("a.js", "`${it's}` b", &["t `${it's}`", "w b"]);
    check("a.js", "`$a` `${b`", &["t `$a`", "t `${b`"]);
    check("a.js", "`$(\"` b", &["t `$(\"`", "w b"]);
    check("a.js", "f(\"$(\", \")\")", &["w f", "(", "t \"$(\"", ",", "t \")\"", ")"]);
    check("a.js", "\"${\" \"}\" \"#{\" \"}\"", &["t \"${\"", "t \"}\"", "t \"#{\"", "t \"}\""]);
    check("a.sh", "\"$(f \")\" \"x\")\" y", &["t \"$(f \")\" \"x\")\"", "w y"]);
    check("a.sh", "'$(' ')' \"${a\" b", &["t '$('", "t ')'", "t \"${a\"", "w b"]);
    check("a.rb", "\"#{f(\"}\")}\" a", &["t \"#{f(\"}\")}\"", "w a"]);
    check("a.rb", "\"#a\" \"b#\"", &["t \"#a\"", "t \"b#\""]);
    // A bracket that closes nothing.
    check("a.js", "`${)}` a", &["t `${)}`", "w a"]);
}

#[test]
fn interpolations_are_read_as_deep_and_as_long_as_their_bounds() {
    let nested = |levels: usize| {
        let (before, after) = ("`${".repeat(levels), "}`".repeat(levels));
        format!("{before}`${{\"`\"}}`{after}")
    };
    assert_eq!(shown("a.js", &nested(7)), [format!("t {}", nested(7))]);
    assert_ne!(shown("a.js", &nested(8)), [format!("t {}", nested(8))]);
    let long = |length: usize| format!("`${{{}\"`\"}}`", "a".repeat(length));
    assert_eq!(shown("a.js", &long(LONGEST - 5)), [format!("t {}", long(LONGEST - 5))]);
    assert_ne!(shown("a.js", &long(LONGEST - 4)), [format!("t {}", long(LONGEST - 4))]);
}

#[test]
fn a_number_keeps_what_belongs_to_it() {
    check("a.rs", "1_000u32 0xff 2.5 1e5 7", &["n 1_000u32", "n 0xff", "n 2.5", "n 1e5", "n 7"]);
    check(
        "a.rs",
        "1.5.2 1..2 1.a 1.",
        &["n 1.5", ".", "n 2", "n 1", ".", ".", "n 2", "n 1", ".", "w a", "n 1", "."],
    );
    check("a.py", "1e-5 1E+5 1e-x 1e", &["n 1e-5", "n 1E+5", "n 1e", "-", "w x", "n 1e"]);
    check(
        "a.py",
        "0xe-5 2-1 2+1 1e5-2",
        &["n 0xe", "-", "n 5", "n 2", "-", "n 1", "n 2", "+", "n 1", "n 1e5", "-", "n 2"],
    );
    check("a.cpp", "1'000'000 1' a", &["n 1'000'000", "n 1", "'", "w a"]);
}

#[test]
fn a_document_in_a_script_belongs_to_its_line() {
    for begin in ["EOF", "-EOF", "~EOF", "'EOF'", "\"EOF\"", "-'EOF'"] {
        let text = format!("cat <<{begin}\n it's 1\n  EOF\nx\n");
        let found = shown("a.sh", &text);
        let end = found.iter().position(|token| token == "↵ it's 1\n  EOF\n");
        assert_eq!(end, Some(found.len() - 3), "{found:?}");
        assert_eq!(found[found.len() - 2..], ["w x", "↵"], "{found:?}");
    }
    check("a.rb", "a <<_A\nb\n_A\nc", &["w a", "<", "<", "w _A", "↵b\n_A\n", "w c"]);
    // Lower case may be a shift; and this one has no end.
    check("a.rb", "a << b\nc\nb\n", &["w a", "<", "<", "w b", "↵", "w c", "↵", "w b", "↵"]);
    check("a.sh", "a <<EOF\nb\n", &["w a", "<", "<", "w EOF", "↵", "w b", "↵"]);
    for path in ["a.rs", "a.js"] {
        check(path, "a << B\nc\nB\n", &["w a", "<", "<", "w B", "↵", "w c", "↵", "w B", "↵"]);
    }
    check("a.sh", "a < B\nc\nB\n", &["w a", "<", "w B", "↵", "w c", "↵", "w B", "↵"]);
}

#[test]
fn each_bracket_knows_the_one_that_closes_it() {
    let closing = |text: &str| {
        let tokens = tokens(text, Syntax::for_path("a.js"));
        let pairs = brackets(&tokens, text).into_iter().enumerate();
        pairs.filter_map(|(at, end)| Some((at, end?))).collect::<Vec<_>>()
    };
    assert_eq!(closing("(a[b]{c})"), [(0, 8), (2, 4), (5, 7)]);
    assert_eq!(closing(")a(]b)"), [(2, 5)]);
    assert_eq!(closing("(')')"), [(0, 2)]);
    assert_eq!(closing("{[}"), []);
}
