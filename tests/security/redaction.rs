//! No secret that Ralph recognises stays in what it stores or says of an output, and what is no secret stays.
//!
//! Every value is put together when the test runs: none that looks alive is in this file.

use crate::attack::{COMMANDS, command, events, hook, said};
use crate::world::World;
use ralph_core::text::secrets;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// A little generator: the same values each time.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize
    }

    fn of(&mut self, letters: &str, n: usize) -> String {
        let letters: Vec<char> = letters.chars().collect();
        // Random letters have a digit among them nearly always; this has one in any case.
        let mut text: String = (0..n).map(|_| letters[self.next() % letters.len()]).collect();
        if n >= 6 && letters.contains(&'7') {
            text.replace_range(n / 2..=n / 2, "7");
        }
        text
    }

    fn plain(&mut self, n: usize) -> String {
        self.of("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789", n)
    }

    fn hex(&mut self, n: usize) -> String {
        self.of("0123456789abcdef", n)
    }

    fn upper(&mut self, n: usize) -> String {
        self.of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", n)
    }

    fn base64(&mut self, n: usize) -> String {
        self.of("ABCDEFGHabcdefgh0123456789+/", n)
    }
}

/// One line or more of an output, and the secret in it.
struct Case {
    kind: &'static str,
    text: String,
    secret: String,
    /// False if Ralph does not recognise it, as SECURITY.md says.
    is_redacted: bool,
}

/// Tokens that are known by themselves: how they begin, and what follows.
fn tokens(dice: &mut Dice) -> Vec<(&'static str, String)> {
    let join = |parts: &[&str]| parts.concat();
    vec![
        ("github", join(&["gh", "p_", &dice.plain(36)])),
        ("github oauth", join(&["gh", "o_", &dice.plain(36)])),
        ("github app", join(&["gh", "s_", &dice.plain(36)])),
        ("github refresh", join(&["gh", "r_", &dice.plain(36)])),
        ("github fine-grained", join(&["github", "_pat_", &dice.plain(82)])),
        ("gitlab", join(&["gl", "pat-", &dice.plain(20)])),
        ("gitlab deploy", join(&["gl", "dt-", &dice.plain(20)])),
        ("gitlab runner", join(&["gl", "rt-", &dice.plain(20)])),
        ("slack bot", join(&["xox", "b-", &dice.of("0123456789", 12), "-", &dice.plain(24)])),
        ("slack user", join(&["xox", "p-", &dice.of("0123456789", 12), "-", &dice.plain(32)])),
        ("slack app", join(&["xa", "pp-1-", &dice.upper(11), "-", &dice.hex(40)])),
        ("stripe live", join(&["sk", "_live_", &dice.plain(24)])),
        ("stripe restricted", join(&["rk", "_live_", &dice.plain(24)])),
        ("stripe test", join(&["sk", "_test_", &dice.plain(24)])),
        ("google key", join(&["AI", "za", &dice.plain(35)])),
        ("google oauth", join(&["ya", "29.", &dice.plain(60)])),
        ("google client", join(&["GOC", "SPX-", &dice.plain(28)])),
        ("anthropic", join(&["sk-", "ant-api03-", &dice.plain(93), "AA"])),
        ("anthropic oauth", join(&["sk-", "ant-oat01-", &dice.plain(60)])),
        ("openai project", join(&["sk-", "proj-", &dice.plain(48)])),
        ("openai", join(&["sk-", &dice.plain(48)])),
        ("npm", join(&["np", "m_", &dice.plain(36)])),
        ("pypi", join(&["py", "pi-AgEIcHlwaS5vcmc", &dice.plain(60)])),
        ("sendgrid", join(&["S", "G.", &dice.plain(22), ".", &dice.plain(43)])),
        ("twilio", join(&["S", "K", &dice.hex(32)])),
        ("aws id", join(&["AK", "IA", &dice.upper(16)])),
        ("aws temporary id", join(&["AS", "IA", &dice.upper(16)])),
        ("hugging face", join(&["h", "f_", &dice.plain(34)])),
        ("digitalocean", join(&["dop", "_v1_", &dice.hex(64)])),
        ("vault", join(&["hv", "s.", &dice.plain(24)])),
        ("age", join(&["AGE-SECRET", "-KEY-1", &dice.upper(58)])),
        ("shopify", join(&["shp", "at_", &dice.hex(32)])),
        ("databricks", join(&["da", "pi", &dice.hex(32)])),
        ("pulumi", join(&["pu", "l-", &dice.hex(40)])),
        ("postman", join(&["PM", "AK-", &dice.hex(24), "-", &dice.hex(34)])),
        ("grafana", join(&["gl", "sa_", &dice.plain(32), "_", &dice.hex(8)])),
        ("sentry", join(&["snt", "ryu_", &dice.hex(64)])),
        ("supabase", join(&["sb", "p_", &dice.hex(40)])),
        ("docker", join(&["dckr", "_pat_", &dice.plain(27)])),
        ("terraform", join(&["atlas", "v1.", &dice.plain(62)])),
        ("square", join(&["sq0", "atp-", &dice.plain(22)])),
        ("rubygems", join(&["ruby", "gems_", &dice.hex(48)])),
        (
            "web token",
            join(&["eyJ", &dice.plain(20), ".eyJ", &dice.plain(40), ".", &dice.plain(43)]),
        ),
    ]
}

/// Addresses with a password, in place of the first `@`. They are not redacted: only the value of a
/// variable is.
const ADDRESSES: [(&str, &str); 3] = [
    ("address", "postgres://app:@@db.example.com:5432/app"),
    ("redis address", "redis://:@@127.0.0.1:6379/0"),
    ("git address", "fatal: unable to access 'https://oauth2:@@gitlab.com/g/p.git/'"),
];

type Form = (&'static str, fn(&str) -> String);

/// What is put around a whole line.
const FORMS: [Form; 3] = [
    ("alone", |line| format!("{line}\n")),
    ("in a log", |line| format!("line before\n{line}\nline after\n")),
    ("coloured", |line| format!("\u{1b}[1;31m{line}\u{1b}[0m\n")),
];

fn blocks(dice: &mut Dice) -> Vec<Case> {
    let mut all = Vec::new();
    for label in ["RSA ", "", "EC ", "OPENSSH ", "ENCRYPTED ", "DSA "] {
        let body: Vec<String> = (0..12).map(|_| dice.base64(64)).collect();
        let edge = |word: &str| ["-----", word, " ", label, "PRIVATE", " KEY-----"].concat();
        let block = format!("{}\n{}\n{}", edge("BEGIN"), body.join("\n"), edge("END"));
        let secret = body[5].clone();
        let is_redacted = true;
        let (text, kind) = (block.clone() + "\n", "private key");
        all.push(Case { kind, text, secret: secret.clone(), is_redacted });
        let json = format!("{{\"private_key\": {:?}}}\n", block);
        all.push(Case { kind: "private key in JSON", text: json, secret, is_redacted });
    }
    let lines: Vec<String> = (0..4).map(|_| dice.base64(64)).collect();
    let putty = format!("Private-Lines: 4\n{}\nPrivate-MAC: 00\n", lines.join("\n"));
    all.push(Case { kind: "putty", text: putty, secret: lines[2].clone(), is_redacted: true });
    let hook = dice.plain(24);
    let text = [
        "https://hooks.slack",
        ".com/services/T0",
        &dice.upper(8),
        "/B0",
        &dice.upper(8),
        "/",
        &hook,
    ];
    all.push(Case {
        kind: "web hook",
        text: text.concat() + "\n",
        secret: hook,
        is_redacted: true,
    });
    all
}

fn corpus() -> Vec<Case> {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut all = blocks(&mut dice);
    for (form, made) in FORMS {
        for (kind, token) in tokens(&mut dice) {
            let line = match form {
                "alone" => token.clone(),
                "in a log" => format!("using {token}, which works"),
                _ => format!("(\"{token}\")"),
            };
            all.push(Case { kind, text: made(&line), secret: token, is_redacted: true });
        }
        for (kind, line) in ADDRESSES {
            let secret = dice.plain(18);
            let text = made(&line.replacen('@', &secret, 1));
            all.push(Case { kind, text, secret, is_redacted: false });
        }
    }
    // Passwords as people choose them.
    for password in ["swordfishx", "hunter2x", "Tr0ub4dor&3", "s3cr3t!x"] {
        let (kind, line) = ADDRESSES[0];
        let text = line.replacen('@', password, 1) + "\n";
        all.push(Case { kind, text, secret: password.to_owned(), is_redacted: false });
    }
    all
}

#[test]
fn every_kind_of_secret_is_taken_out_by_its_shape() {
    let corpus = corpus();
    let redacted = || corpus.iter().filter(|case| case.is_redacted);
    let kinds: BTreeSet<&str> = redacted().map(|case| case.kind).collect();
    assert!(redacted().count() >= 120 && kinds.len() >= 47, "{} kinds", kinds.len());
    let wrong: Vec<String> = corpus
        .iter()
        .filter(|case| secrets::by_shape(&case.text).contains(&case.secret) == case.is_redacted)
        .map(|case| format!("{}: {:?}", case.kind, case.text))
        .collect();
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), corpus.len());
}

/// Variables of the environment, whose values are found where they stand as they are.
fn variables(dice: &mut Dice) -> Vec<(String, String)> {
    let names = [
        "PGPASSWORD",
        "DB_PASSWORD",
        "DB_PASS",
        "TOKEN",
        "DATABASE_URL",
        "MYSQL_PWD",
        "REDIS_AUTH",
        "SENTRY_DSN",
        "CONNECTION_STRING",
        "SESSION_COOKIE",
        "AZURE_CREDENTIALS",
        "API_KEY",
        "APP_SECRET",
        "SECRET",
        "JWT",
        "SMTP_PASSWD",
        "KEY_PASSPHRASE",
        "BW_SESSION",
        "npm_config__authToken",
        "MONGO_URI",
    ];
    names.map(|name| (name.to_owned(), format!("{}-{}", dice.plain(9), dice.plain(11)))).into()
}

/// Each value as it is, alone and within a line.
const SHOW: &str = r#"cat secrets.txt
for name in $NAMES; do
  eval "value=\$$name"
  echo "it is $value."; printf '\033[31m%s\033[0m\n' "$value"; printf %s "user:$value@host"
done
env; exit 1
"#;

#[test]
fn after_a_whole_loop_no_secret_of_an_output_is_kept_or_said() {
    let mut dice = Dice(77);
    let mut world = World::new();
    let variables = variables(&mut dice);
    let corpus = corpus();
    for (name, value) in &variables {
        world.set(name, value);
    }
    let names: Vec<&str> = variables.iter().map(|(name, _)| name.as_str()).collect();
    world.set("NAMES", &names.join(" "));
    let text: String = corpus.iter().map(|case| case.text.as_str()).collect();
    world.write("secrets.txt", &text);
    world.write("show.sh", SHOW);
    world.start("--baseline --ac \"it=sh show.sh\" --ac \"tail=tail -n 12 secrets.txt; false\"");
    let mut says = String::new();
    for arguments in COMMANDS.into_iter().filter(|words| words[0] != "pause") {
        says += &said(&command(&world, arguments));
    }
    for (name, event, members) in events() {
        let ran = hook(&world, name, event, members);
        says += &format!("{}{}", ran.out(), ran.err());
    }
    for arguments in [&["verify", "--json"][..], &["report"], &["report", "--html", "page.html"]] {
        says += &said(&command(&world, arguments));
    }
    command(&world, &["cancel"]);
    world.stop("x");
    says += &said(&command(&world, &["status", "--all", "--json"]));
    let page = std::fs::read_to_string(world.project().join("page.html")).unwrap_or_default();
    let mut places = vec![("what was said".to_owned(), says), ("the page".to_owned(), page)];
    for (path, (_, content)) in world.listing(&world.ralph_home()) {
        places.push((path.display().to_string(), String::from_utf8_lossy(&content).into_owned()));
    }
    let recognised = corpus.iter().filter(|case| case.is_redacted);
    let secrets = recognised.map(|case| (case.kind, case.secret.clone()));
    let values = variables.iter().map(|(name, value)| (name.as_str(), value.clone()));
    let all: Vec<(&str, String)> = secrets.chain(values).collect();
    let left: BTreeSet<String> = places
        .iter()
        .flat_map(|(place, text)| {
            let found = all.iter().filter(|(_, secret)| text.contains(secret.as_str()));
            found.map(move |(kind, secret)| format!("{kind}: `{secret}` in {place}"))
        })
        .collect();
    assert!(left.is_empty(), "{left:#?}");
    // The output was kept: what was to be taken out of it was there.
    assert!(places.iter().any(|(_, text)| text.contains("[redacted PGPASSWORD]")));
    assert!(places.iter().any(|(_, text)| text.contains("line after")));
}

fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// What tools print every day: `tests/fixtures/outputs/README.md` says which and from where.
#[test]
fn of_what_tools_print_nothing_is_taken_out() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let mut all = Vec::new();
    for folder in ["outputs", "runners", "checks"] {
        files(&fixtures.join(folder), &mut all);
    }
    let (mut n_lines, mut changed) = (0, Vec::new());
    for path in &all {
        let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        let clean = secrets::by_shape(&text);
        n_lines += text.lines().count();
        assert_eq!(clean.lines().count(), text.lines().count(), "{}", path.display());
        let pairs = text.lines().zip(clean.lines()).filter(|(old, new)| old != new);
        changed.extend(pairs.map(|(old, _)| old.trim().to_owned()));
    }
    println!("{n_lines} lines, {} changed", changed.len());
    assert!(n_lines >= 2000, "{n_lines}");
    assert!(changed.is_empty(), "{changed:#?}");
}

/// How long this thread has had a processor.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.try_into().unwrap())
}

/// Four times the text takes four times as long, or a little more.
#[test]
fn the_cost_grows_with_the_length_and_no_faster() {
    let line = "test a::b::c ... ok password: 12 https://example.com/?a=b token == x {key: 1}\n";
    let nasty =
        ["=".repeat(4000), "-----BEGIN ".repeat(400), "password=".repeat(400), "eyJ".repeat(1300)];
    for text in [line.repeat(60), nasty.concat()] {
        let time = |n: usize| {
            let text = text.repeat(n);
            let began = processor_time();
            secrets::by_shape(&text);
            processor_time() - began
        };
        time(2);
        let (once, more) =
            ((0..3).map(|_| time(20)).min().unwrap(), (0..3).map(|_| time(80)).min().unwrap());
        assert!(more < once * 8, "{once:?} and {more:?} for four times as much");
    }
}
