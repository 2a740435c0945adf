//! Whether the text of `ralph blocked` names an action that only a person can take.
//!
//! A feeling, a claim, a progress report or a wish to stop does not qualify. The check uses word
//! lists, in English: an action for a person begins with a verb, or is a question about a choice
//! that is theirs.

use crate::state::{LoopState, TaskStatus};

/// Why `ralph blocked` is refused; `None` if the loop may pause for it. The caller also refuses it
/// while tasks are ready.
pub fn refusal(state: &LoopState, what: &str) -> Option<String> {
    let criterion = state.acceptance_criteria.iter().any(|criterion| !criterion.verified);
    let task = state.task_graph.iter().any(|task| task.status != TaskStatus::Done);
    if !criterion && !task {
        return Some(
            "no criterion and no task of this loop is open, so no person is needed for one: go on with the \
             goal, or ask for completion"
                .to_owned(),
        );
    }
    let is_of_a_person = clauses(what).iter().any(|clause| asks(clause) || demands(clause));
    (!is_of_a_person).then(|| {
        "name one concrete action that only a person can take, beginning with a verb, or a question with \
         the choice that is theirs: `ralph blocked 'Create an API key for Stripe and put it into .env'`"
            .to_owned()
    })
}

/// Verbs for actions that a person can take and the model cannot.
const ACTIONS: [&str; 103] = [
    "activate",
    "add",
    "allow",
    "answer",
    "approve",
    "ask",
    "assign",
    "attach",
    "authenticate",
    "authorise",
    "authorize",
    "buy",
    "call",
    "charge",
    "choose",
    "click",
    "complete",
    "configure",
    "connect",
    "contact",
    "create",
    "decide",
    "delegate",
    "delete",
    "deploy",
    "disable",
    "disconnect",
    "download",
    "enable",
    "enter",
    "exempt",
    "export",
    "extend",
    "file",
    "free",
    "generate",
    "give",
    "grant",
    "hand",
    "import",
    "increase",
    "insert",
    "install",
    "invite",
    "issue",
    "link",
    "log",
    "login",
    "make",
    "merge",
    "mount",
    "move",
    "name",
    "obtain",
    "open",
    "order",
    "pair",
    "pay",
    "permit",
    "pick",
    "plug",
    "post",
    "press",
    "procure",
    "provide",
    "provision",
    "publish",
    "purchase",
    "put",
    "raise",
    "reboot",
    "register",
    "release",
    "remove",
    "renew",
    "replace",
    "request",
    "reset",
    "restart",
    "restore",
    "revoke",
    "rotate",
    "scan",
    "select",
    "send",
    "set",
    "share",
    "sign",
    "solve",
    "specify",
    "start",
    "state",
    "submit",
    "subscribe",
    "supply",
    "switch",
    "tell",
    "top",
    "turn",
    "unlock",
    "upgrade",
    "upload",
    "whitelist",
];

/// Verbs that may also describe the model's own work, so their object decides.
const WEAK: [&str; 7] = ["accept", "check", "clarify", "confirm", "review", "verify", "update"];

/// Things that a person reviews, accepts or owns.
const OF_A_PERSON: [&str; 62] = [
    "access",
    "account",
    "admin",
    "administrator",
    "agreement",
    "api",
    "approval",
    "billing",
    "budget",
    "captcha",
    "card",
    "certificate",
    "client",
    "code",
    "contract",
    "copyright",
    "credential",
    "credentials",
    "customer",
    "decision",
    "design",
    "device",
    "dns",
    "domain",
    "dongle",
    "email",
    "eula",
    "firewall",
    "hardware",
    "invitation",
    "invoice",
    "key",
    "keys",
    "legal",
    "licence",
    "license",
    "login",
    "mfa",
    "passphrase",
    "password",
    "payment",
    "permission",
    "permissions",
    "phone",
    "pin",
    "price",
    "privacy",
    "production",
    "quota",
    "requirement",
    "secret",
    "seat",
    "server",
    "subscription",
    "sudo",
    "terms",
    "ticket",
    "token",
    "vendor",
    "vpn",
    "wording",
    "2fa",
];

/// Words without content: if the object of an action consists of these, the text is a wish to stop
/// or for help.
const EMPTY: [&str; 138] = [
    "a",
    "about",
    "again",
    "all",
    "am",
    "an",
    "and",
    "any",
    "anything",
    "are",
    "as",
    "at",
    "attention",
    "away",
    "be",
    "because",
    "been",
    "before",
    "best",
    "better",
    "bit",
    "break",
    "but",
    "by",
    "can",
    "cannot",
    "complete",
    "completed",
    "completion",
    "continue",
    "criteria",
    "criterion",
    "do",
    "does",
    "done",
    "down",
    "effort",
    "either",
    "else",
    "end",
    "enough",
    "ever",
    "everything",
    "feedback",
    "fine",
    "finish",
    "finished",
    "for",
    "free",
    "from",
    "further",
    "go",
    "goal",
    "good",
    "guidance",
    "hand",
    "has",
    "have",
    "hard",
    "help",
    "here",
    "how",
    "i",
    "idea",
    "if",
    "impossible",
    "in",
    "instruction",
    "instructions",
    "is",
    "it",
    "its",
    "iteration",
    "iterations",
    "job",
    "just",
    "let",
    "limit",
    "loop",
    "lot",
    "man",
    "maximum",
    "me",
    "more",
    "moment",
    "much",
    "my",
    "myself",
    "need",
    "next",
    "no",
    "not",
    "now",
    "of",
    "off",
    "on",
    "one",
    "or",
    "out",
    "over",
    "patience",
    "pause",
    "please",
    "progress",
    "ralph",
    "rest",
    "right",
    "session",
    "sleep",
    "so",
    "some",
    "something",
    "soon",
    "status",
    "stop",
    "stuff",
    "task",
    "tasks",
    "that",
    "the",
    "then",
    "thing",
    "things",
    "this",
    "time",
    "to",
    "tired",
    "too",
    "turn",
    "up",
    "us",
    "we",
    "what",
    "when",
    "with",
    "work",
    "you",
    "your",
];

/// Words that express a wish to end the loop: a clause with one of these asks for no action.
const ENDS: [&str; 15] = [
    "tired",
    "bored",
    "exhausted",
    "quit",
    "stop",
    "cancel",
    "abort",
    "terminate",
    "goodbye",
    "rest",
    "break",
    "surrender",
    "sleep",
    "pause",
    "enough",
];

/// Words for people who can be asked to act.
const PERSONS: [&str; 20] = [
    "you",
    "person",
    "someone",
    "somebody",
    "human",
    "user",
    "owner",
    "admin",
    "administrator",
    "maintainer",
    "operator",
    "team",
    "customer",
    "manager",
    "lead",
    "lawyer",
    "designer",
    "reviewer",
    "they",
    "he",
];

/// Words between a person, or the start of a clause, and the verb.
const BETWEEN: [&str; 24] = [
    "please", "must", "should", "has", "have", "needs", "need", "to", "can", "could", "first",
    "will", "would", "kindly", "then", "either", "also", "now", "and", "only", "or", "manually",
    "once", "just",
];

/// Words that ask for a noun: `I need the password of …`.
const LACKS: [&str; 11] = [
    "need", "needs", "needed", "require", "requires", "required", "missing", "lack", "lacks",
    "awaiting", "waiting",
];

/// Sentences and their parts, each as lower-case words; a question ends with `?`.
fn clauses(text: &str) -> Vec<Vec<String>> {
    let mut clauses = Vec::new();
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let bare = word.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase();
        if !bare.is_empty() {
            words.push(bare);
        }
        let ends = |marks: &[char]| word.trim_end_matches(['"', '\'', ')', '`']).ends_with(marks);
        if ends(&['?']) {
            words.push("?".to_owned());
        }
        if ends(&['.', ';', ':', '!', '?']) || word == "-" || word == "—" {
            clauses.push(std::mem::take(&mut words));
        }
    }
    clauses.push(words);
    clauses.retain(|clause| !clause.is_empty());
    clauses
}

fn is(list: &[&str], word: &str) -> bool {
    list.contains(&word)
}

/// Counts the words with content.
fn n_named(words: &[String]) -> usize {
    let names = |word: &&String| !is(&EMPTY, word) && !is(&BETWEEN, word) && !is(&PERSONS, word);
    words.iter().filter(|word| word.chars().any(char::is_alphanumeric)).filter(names).count()
}

/// True if the clause asks a person to act.
fn demands(clause: &[String]) -> bool {
    if clause.iter().any(|word| is(&ENDS, word)) {
        return false;
    }
    let lacks = clause.iter().position(|word| is(&LACKS, word)).is_some_and(|at| {
        let about = [&clause[..at], &clause[at + 1..]].concat();
        about.iter().any(|word| is(&OF_A_PERSON, word)) && n_named(&about) > 1
    });
    let acts = (0..clause.len()).any(|at| {
        let object = &clause[at + 1..];
        let verb = clause[at].as_str();
        let names = match (is(&ACTIONS, verb), is(&WEAK, verb)) {
            (true, _) => n_named(object) > 0 && !is_about_the_work(object),
            (false, true) => object.iter().any(|word| is(&OF_A_PERSON, word)),
            (false, false) => false,
        };
        names && is_told(&clause[..at])
    });
    lacks || acts
}

/// True for the model's own work, or for a claim that it is finished.
fn is_about_the_work(object: &[String]) -> bool {
    let own = ["loop", "ralph", "iteration", "iterations", "criterion", "criteria", "progress"];
    let done = ["done", "finished", "complete", "completed", "verified", "proven"];
    object.iter().any(|word| is(&own, word) || is(&done, word))
}

/// True if the words before a verb ask a person to act: no words, or a person and the words
/// between.
fn is_told(before: &[String]) -> bool {
    let rest = before.iter().rposition(|word| !is(&BETWEEN, word));
    let Some(at) = rest else { return true };
    let is_person = is(&PERSONS, &before[at]);
    let binds = before[at + 1..].iter().any(|word| {
        is(&["must", "should", "has", "have", "needs", "need", "to", "can", "could"], word)
    });
    let by_someone = before[..at].iter().any(|word| is(&PERSONS, word))
        && !before[..=at].iter().any(|word| is(&["i", "we"], word));
    // `someone with admin rights must …`, `you need to …`, `waiting for the owner to …`,
    // `… and then restart it`.
    (is_person && (binds || at + 1 == before.len()))
        || (by_someone && binds)
        || (at + 1 < before.len()
            && is(&["and", "then", "or"], &before[at + 1])
            && is_told_before(&before[..=at]))
}

/// True if the clause already asks a person to take an earlier action.
fn is_told_before(before: &[String]) -> bool {
    (0..before.len()).any(|at| is(&ACTIONS, &before[at]) && is_told(&before[..at]))
}

/// True for a question whose answer is a person's choice or knowledge.
fn asks(clause: &[String]) -> bool {
    let Some(("?", words)) = clause.split_last().map(|(last, words)| (last.as_str(), words)) else {
        return false;
    };
    if words.len() < 5 || words.iter().any(|word| is(&ENDS, word)) || is_about_the_work(words) {
        return false;
    }
    let n_named = n_named(words);
    let begins = |list: &[&str]| words.iter().take(3).any(|word| is(list, word));
    let chooses = words.iter().any(|word| word == "or") && n_named > 2;
    let knows = begins(&["which", "who", "whose", "where"]) && n_named > 1;
    let is_of_theirs =
        begins(&["what", "do", "does", "may", "should", "shall", "can", "is", "are"])
            && n_named > 2
            && words.iter().any(|word| is(&OF_A_PERSON, word) || is(&["want", "delete"], word));
    chooses || knows || is_of_theirs
}

#[cfg(test)]
mod tests;
