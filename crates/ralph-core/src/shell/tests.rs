//! The shell reader on command lines: words, wrappers, inner scripts, limits and random input.

use super::*;

/// Compares commands as `name argument …`, one per line, with `?` for what is not literal.
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

/// Compares whole commands: variables, words, files, pipeline number, and what feeds them.
#[track_caller]
fn check_whole(script: &str, expected: &[&str]) {
    let reading = read(script, &[("HOME", "/home/u")]);
    let plain = |word: &ShellWord| word.text.replace([UNKNOWN, STAR, ONE], "?");
    let found: Vec<String> = reading
        .commands
        .iter()
        .map(|command| {
            let set =
                command.assignments.iter().map(|(name, word)| format!("{name}={}", plain(word)));
            let mut parts: Vec<String> = set.collect();
            parts.extend(command.removed.iter().map(|name| format!("-{name}")));
            parts.extend(command.words.iter().map(plain));
            let arrow = |writes: bool| if writes { '>' } else { '<' };
            let files = command.redirects.iter();
            parts
                .extend(files.map(|file| format!("{}{}", arrow(file.writes), plain(&file.target))));
            parts.extend(command.input.iter().map(|text| format!("<<{text:?}")));
            parts.push(format!("#{}", command.pipeline));
            parts.extend(command.fed.then(|| "fed".to_owned()));
            parts.extend(command.fed_by_words.then(|| "fed by words".to_owned()));
            parts.join(" ")
        })
        .collect();
    assert_eq!(found, expected, "{script}");
}

/// Compares the words of the last command, with `?` for what is not literal.
#[track_caller]
fn check_words(script: &str, expected: &[&str]) {
    let reading = read(script, &[("HOME", "/home/u")]);
    let last = reading.commands.last().unwrap();
    let words: Vec<String> =
        last.words.iter().map(|word| word.text.replace([UNKNOWN, STAR, ONE], "?")).collect();
    assert_eq!(words, expected, "{script}");
}

#[test]
fn every_compound_command_is_looked_into() {
    check("! a; time b; coproc c", &["a", "b", "c"]);
    check("for ((i=$(a); i<$(b); i+=$(c))); do d; done", &["a", "b", "c", "d"]);
    check("select x in $(a); do b $x; done", &["a", "b ?"]);
    check("case x in $(a)) b;; esac", &["a", "b"]);
    check("[[ $(a) == $(b) && ! -n $(c) || ( -f $(d) ) ]]", &["a", "b", "c", "d"]);
    check("x=($(a) b); c", &["a", "c"]);
    check("a $((1 + $(b)))", &["b", "a ?"]);
    check("for x in 1 2; do a $x; done; b $x", &["a 1", "a 2", "b 2"]);
}

#[test]
fn a_command_is_kept_with_its_variables_and_files() {
    check_whole("a >f 2>>g <h", &["a >f >g <h #1"]);
    check_whole("X=1 Y=$U a; A_B=2; b $A_B", &["X=1 Y=? a #1", "A_B=2 #2", "b 2 #3"]);
    check_whole("X=1; X+=2; a $X", &["X=1 #1", "X=? #2", "a ? #3"]);
    check_whole("x; { a; } >f", &["x #1", ">f #1", "a #2"]);
    check_whole("echo a >$(b)", &["b #1", "echo a >? #1"]);
    check_whole("env -i X=1 -u Y --unset=Z -uV -C d -v a b", &["X=1 -* -Y -Z -V a b #1"]);
}

#[test]
fn a_pipeline_knows_its_members_and_what_they_are_fed() {
    check_whole("a | b | c; d", &["a #1", "b #1", "c #1", "d #2"]);
    check_whole("find x | xargs -n 1 rm", &["find x #1", "rm #1 fed"]);
    check_whole("find x | sudo rm", &["find x #1", "rm #1"]);
    check_whole(
        "find x | while read y; do rm $y z; rm w; done",
        &["find x #1", "read y #1", "rm ? z #1 fed", "rm w #1"],
    );
    check_whole("rm $(find a)", &["find a #1", "rm ? #1 fed by words"]);
    check_whole("echo a b | cat", &["echo a b #1", "cat <<\"a b\" #1"]);
    check_whole("find x -exec a {} \\;", &["a {} #1", "find x -exec a {} ; #1"]);
}

#[test]
fn the_text_of_a_here_document_is_kept() {
    check_whole("cat <<E\ntext\nE\n", &["cat <<\"text\\n\" #1"]);
    check_whole("cat <<E\n$X\nE\n", &["cat <<\"$X\\n\" #1"]);
    check_whole("cat <<< 'a b'", &["cat <<\"a b\" #1"]);
    check_whole("cat <<< \"$X y\"", &["cat <<\"$X y\" #1"]);
    check("cat <<E\nxyz $(a $(b c) d) $(e) `f`\nE\n", &["b c", "a ? d", "e", "f", "cat"]);
    check("cat <<'E'\n$(a)\nE\n", &["cat"]);
}

#[test]
fn a_shell_reads_the_text_that_it_is_handed() {
    for script in [
        "sh <<E\na\nE\n",
        "sh <<< a",
        "sh -s x <<< a",
        "sh - <<< a",
        "sh /dev/stdin <<< a",
        "{ sh; } <<< a",
        "source /dev/stdin <<< a",
        "echo a | sh",
        "echo -n a | sh",
        "printf '%s\\n' a | sh",
        "printf %b a | sh",
        "echo a | cat | sh",
        "cat <<E | sh\na\nE\n",
        "sh -c a",
        "sh -x -c a",
        "bash --rcfile f -c a",
        "trap -- a EXIT",
        "watch -n 2 a",
        "eval a",
    ] {
        let reading = read(script, &[]);
        let names: Vec<&str> = reading.commands.iter().filter_map(Simple::name).collect();
        assert!(names.contains(&"a"), "{script}: {names:?}");
        assert_eq!(reading.opaque, [], "{script}");
    }
    check("echo - | sh", &["echo -", "-", "sh"]);
    check("printf '%s %s\\n' a b | sh", &["printf %s %s\\n a b", "a b", "sh"]);
    check_opaque("sh <<'E'\n$X a\nE\n", &[Opaque::DynamicName]);
    check_opaque("cat <<'E' | sh\n$X a\nE\n", &[Opaque::DynamicName]);
}

#[test]
fn a_shell_that_is_handed_no_text_reads_none() {
    check("sh f <<< a", &["sh f"]);
    check("source f <<< a", &["source f"]);
    check("{ sh & } <<< a", &["sh"]);
    check("bash check.sh", &["bash check.sh"]);
    for script in ["sh f <<< a", "curl x | bash f", "sh >f", "bash check.sh", "source f"] {
        check_opaque(script, &[]);
    }
}

#[test]
fn a_script_from_elsewhere_cannot_be_known() {
    for script in [
        "sh <f",
        "sh <<< $X",
        "sh <<E\n$X a\nE\n",
        "cat <<E | sh\n$X a\nE\n",
        "bash <(a)",
        "source <(a)",
        "cat f | sh",
        "cat | sh",
        "a | cat | sh",
        "{ a; } | sh",
    ] {
        check_opaque(script, &[Opaque::PipedScript]);
    }
    check_opaque("bash -c", &[Opaque::DynamicScript]);
    check("eval a $X", &["a ?"]);
}

#[test]
fn a_wrapper_without_a_command_is_the_command() {
    for alone in ["sudo", "sudo -u me", "timeout 5", "env", "command -v x", "command -V x"] {
        check(alone, &[alone]);
    }
    check("command -p x", &["x"]);
    check("sudo -n -u me a", &["a"]);
    check("sudo -- -a b", &["-a b"]);
    check("env - a", &["a"]);
    check("env -S 'a b' c", &["a b c"]);
    check("alias x='a b'; x c", &["alias x=a b", "a b c"]);
    check("alias x='x b'; x c; x d", &["alias x=x b", "x b c", "x b d"]);
    check("declare -r X=1; a $X", &["declare -r X=1", "a 1"]);
}

#[test]
fn what_a_variable_holds_and_what_it_may_hold_are_told_apart() {
    check_words("x='a b'; c $x", &["c", "a", "b"]);
    check_words("x='a b'; c \"$x\"", &["c", "a b"]);
    check_words(
        "a ${X:-b} ${X-c} ${X:+d} ${HOME:-x} ${HOME:+x}",
        &["a", "b", "c", "?", "/home/u", "?"],
    );
    check_words("a ${X:-$HOME/y} ${X:-$Y} ${X:+$HOME}", &["a", "/home/u/y", "?", "?"]);
    check_words("a ${!X} ${HOME#x}", &["a", "?", "?"]);
    check_words("$(which a) b", &["a", "b"]);
    check_words("$(command -v a) b", &["a", "b"]);
    check_words("a $(echo b >f) $({ echo c; }) $(echo d e)", &["a", "?", "?", "?"]);
    check("a $\"b c\"", &["a b c"]);
    check("a $\"b $(c)\"", &["c", "a ?"]);
    check_opaque("$\"$X\" a", &[Opaque::DynamicName]);
}

#[test]
fn quotes_brackets_and_braces_are_read_as_the_shell_reads_them() {
    check_words(r#"a "\$b\c" "d\"e""#, &["a", r"$b\c", "d\"e"]);
    check_words("a \"b\\\nc\" d\\\ne", &["a", "bc", "de"]);
    check_words("[ -f x ]", &["[", "-f", "x", "]"]);
    check_words("a x[a]y[b]z [a]b[ ]a[b", &["a", "x?y?z", "?b[", "]a[b"]);
    check_words("a {b,c{d,e}f} {g{h,i}j,k}", &["a", "b", "cdf", "cef", "ghj", "gij", "k"]);
    check_words("a {1..3} {b,$(c)}", &["a", "?", "?"]);
    let ten = "{a,b,c,d,e,f,g,h,i,j}";
    check_words(&format!("a {ten}{ten}"), &["a", "?"]);
    assert_eq!(read(&"{a,b}".repeat(6), &[]).commands[0].words.len(), 64);
}

#[test]
fn a_script_is_read_up_to_each_bound_and_not_beyond() {
    check_opaque(&"a".repeat(65_536), &[]);
    check_opaque(&"a".repeat(65_537), &[Opaque::TooLong]);
    check_opaque(&("eval ".repeat(5) + "a"), &[]);
    check_opaque(&("eval ".repeat(6) + "a"), &[Opaque::TooDeep]);
    check_opaque(&"eval a;".repeat(20), &[]);
    check_opaque(&("find -exec ".repeat(5) + "a"), &[]);
    check_opaque(&("find -exec ".repeat(6) + "a"), &[Opaque::TooDeep]);
    check_opaque(&format!("find {}", "-exec a \\; ".repeat(20)), &[]);
    let aliased = |uses: usize| format!("alias x='{}'\n{}", "a ".repeat(2_000), "x;".repeat(uses));
    check_opaque(&aliased(30), &[]);
    check_opaque(&aliased(100), &[Opaque::TooLong]);
    let long = "a".repeat(1_000);
    let of_parts =
        |parts: usize| read(&format!("b {}", "$A".repeat(parts)), &[("A", &long)]).opaque;
    assert_eq!(of_parts(100), []);
    assert_eq!(of_parts(400), [Opaque::TooLong]);
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

#[test]
fn a_control_character_of_the_text_is_a_letter_and_no_mark_of_ours() {
    for mark in ['\u{1}', '\u{2}', '\u{3}', '\u{4}'] {
        let inside = read(&format!("bash -c 'sudo -u{mark}me -- ralph cancel'"), &[]);
        let names: Vec<_> = inside.commands.iter().map(|one| one.base()).collect();
        assert_eq!(names, ["ralph", "bash"], "{mark:?}");
        check(&format!("sudo -u{mark}me -- ralph cancel"), &["ralph cancel"]);
        check(&format!("ca{mark}t 'a{mark}b'"), &["ca\u{5}t a\u{5}b"]);
    }
    check(r"echo $'a\004b'", &["echo a\u{5}b"]);
}
