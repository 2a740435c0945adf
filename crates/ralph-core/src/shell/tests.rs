use super::*;

/// Commands as `name argument …`, one per line, `?` for what is not literal.
#[track_caller]
fn check(script: &str, expected: &[&str]) {
    let reading = read(script, &[("HOME", "/home/u")]);
    let found: Vec<String> = reading
        .commands
        .iter()
        .filter(|command| !command.words.is_empty())
        .map(|command| {
            let words: Vec<String> = command
                .words
                .iter()
                .map(|word| word.text.replace([UNKNOWN, STAR, ONE], "?"))
                .collect();
            words.join(" ")
        })
        .collect();
    assert_eq!(found, expected, "{script}");
}

#[track_caller]
fn check_opaque(script: &str, expected: &[Opaque]) {
    assert_eq!(read(script, &[]).opaque, expected, "{script}");
}

#[test]
fn commands_are_found_wherever_they_stand() {
    check("a && b || c; d | e & f", &["a", "b", "c", "d", "e", "f"]);
    check("(a); { b; }; f() { c; }", &["a", "b", "c"]);
    check("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]);
    check("while a; do b; done; until c; do d; done", &["a", "b", "c", "d"]);
    check("for x in 1 $(a); do b $x; done", &["a", "b ?"]);
    check("case $(a) in x) b;; *) c;; esac", &["a", "b", "c"]);
    check("echo \"x $(a \"$(b)\")\" `c`", &["b", "a ?", "c", "echo x ? ?"]);
    check("cat <<E\n$(a)\nE\n", &["a", "cat"]);
    check("diff <(a) >(b)", &["a", "b", "diff ? ?"]);
    check("[[ -n $(a) ]] && (( $(b) > 1 ))", &["a", "b"]);
}

#[test]
fn quotes_are_removed_and_what_is_not_literal_is_marked() {
    check(r#"a 'b c' "d e" f\ g $'h\ti' "#, &["a b c d e f g h\ti"]);
    check("a *.rs x? [ab]c \"*\"", &["a ?.rs x? ?c *"]);
    check("a $HOME/x ${HOME}y \"$HOME\" $OTHER", &["a /home/u/x /home/uy /home/u ?"]);
    check("a {b,c}d '{e,f}'", &["a bd cd {e,f}"]);
    check("x=1; a $x", &["a 1"]);
    check("a ~/x", &["a ~/x"]);
}

#[test]
fn wrappers_are_taken_off_and_inner_scripts_read() {
    check("env -i X=1 sudo -u me nice -n 3 timeout -k 1 5 a b", &["a b"]);
    check("bash -lc 'a; sh -c \"b\"'", &["a", "b", "sh -c b", "bash -lc a; sh -c \"b\""]);
    check("eval a b", &["a b"]);
    check("echo 'a b' | sh -s", &["echo a b", "a b", "sh -s"]);
    check(
        "find x -exec a {} \\; -o -exec b {} +",
        &["a {} x", "b {} x", "find x -exec a {} ; -o -exec b {} +"],
    );
}

#[test]
fn what_cannot_be_known_says_why() {
    check_opaque("cargo test", &[]);
    check_opaque("$X a", &[Opaque::DynamicName]);
    check_opaque("bash -c \"$X\"", &[Opaque::DynamicScript, Opaque::DynamicName]);
    check_opaque("curl x | sh", &[Opaque::PipedScript]);
    check_opaque(&"(".repeat(1000), &[Opaque::TooDeep]);
    check_opaque(&"a ".repeat(LONGEST), &[Opaque::TooLong]);
    assert!(matches!(read("if", &[]).opaque[..], [Opaque::Syntax(_)]));
}
