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
    check("for x in 1 $(a); do b $x; done", &["a", "b 1", "b ?"]);
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
        &["a {}", "b {}", "find x -exec a {} ; -o -exec b {} +"],
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

/// A generator with a fixed seed: the same scripts in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }
}

const PIECES: &[&str] = &[
    "ralph",
    "cancel",
    " ",
    "\n",
    ";",
    "&&",
    "|",
    "||",
    "&",
    "(",
    ")",
    "{",
    "}",
    "{a,b}",
    "$(",
    "`",
    "\"",
    "'",
    "\\",
    "$X",
    "${X:-",
    "$((",
    "))",
    "[[",
    "]]",
    "<<E\n",
    "\nE\n",
    "<<<",
    "<(",
    ">",
    ">>",
    "2>&1",
    "99999999999999>",
    "if",
    "then",
    "fi",
    "for x in",
    "do",
    "done",
    "case x in",
    "esac",
    "while",
    "f()",
    "eval ",
    "bash -c ",
    "env -u ",
    "xargs ",
    "find . -exec ",
    "sudo ",
    "alias a=a;",
    "a=1 ",
    "~",
    "*",
    "?",
    "[a]",
    "é",
    "\u{1}",
    "\u{4}",
    "#",
    "!",
    "time ",
    "coproc ",
    "$'\\x",
    "=",
    "a=(",
    "\t",
];

#[test]
fn random_scripts_neither_panic_nor_hang() {
    let mut dice = Dice(0x5eed);
    for _ in 0..2_000 {
        let length = dice.roll(24);
        let script: String = (0..length).map(|_| PIECES[dice.roll(PIECES.len())]).collect();
        let reading = read(&script, &[("HOME", "/home/u")]);
        assert!(reading.commands.len() < 100_000, "{script}");
    }
}

#[test]
fn one_piece_repeated_to_the_limit_is_read_or_given_up_on() {
    for piece in PIECES {
        read(&piece.repeat(LONGEST / piece.len()), &[]);
        let spaced = format!("{piece} ");
        read(&spaced.repeat(LONGEST / spaced.len()), &[]);
    }
    for pair in
        ["a=$a$a;", "for x in 1 2 3 4;do ", "echo $(", "eval \"", "bash -c '", "alias a=a\na "]
    {
        read(&pair.repeat(LONGEST / pair.len()), &[]);
    }
}

#[test]
fn loops_in_loops_and_values_that_double_are_given_up_on() {
    let nested =
        format!("{} a $x {}", "for x in 1 2 3 4 5 6 7 8;do ".repeat(10), ";done".repeat(10));
    assert_eq!(read(&nested, &[]).opaque, [Opaque::TooLong]);
    let doubled = format!("x=aaaaaaaa;{} echo $x", "x=$x$x;".repeat(60));
    read(&doubled, &[]);
}
