//! Where the code lies that a hook runs.
//!
//! `RALPH_UPDATE=1` writes `.cargo/code-order.ld` anew, from what hooks with symbols run.

use std::collections::BTreeSet;
use std::ffi::OsString;

use crate::built;
use crate::scene::{Run, Scene, Skip};

/// The kernel maps so much of an executable for each page that runs.
const RANGE: u64 = 64 * 1024;

/// How many ranges of the executable hold code that this run executes.
pub(crate) fn ranges(scene: &Scene, run: &Run) -> Result<u64, Skip> {
    let report = traced(scene, run)?;
    let addresses = report.lines().filter_map(|line| line.strip_prefix("0x")?.split_once(' '));
    let addresses = addresses.filter_map(|(address, _)| u64::from_str_radix(address, 16).ok());
    let ranges: BTreeSet<u64> = addresses.map(|address| address / RANGE).collect();
    assert!(!ranges.is_empty(), "the report names no address:\n{report}");
    Ok(ranges.len() as u64)
}

/// Writes the functions of idle calls, and of calls in a live loop, as the linker takes them.
pub(crate) fn update(scene: &Scene, hooks: &[&str]) -> Result<(), Skip> {
    let named = built::hooks_with_symbols().map_err(|e| Skip(format!("{e:#}")))?;
    let named = |hook| named.get(hook).ok_or_else(|| Skip(format!("there is no {hook}")));
    let mut calls = vec![BTreeSet::new()];
    for hook in hooks {
        calls[0].extend(names(&traced(scene, &scene.idle(hook)?.of(named(hook)?))?));
    }
    for hook in hooks {
        for run in scene.live_calls(hook)? {
            let mut run = names(&traced(scene, &run.of(named(hook)?))?);
            run.retain(|name| !calls.iter().any(|call| call.contains(name)));
            println!("{hook}: {} more functions", run.len());
            calls.push(run);
        }
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.cargo/code-order.ld");
    std::fs::write(file, script(&calls)).expect("the tree can be written");
    Ok(())
}

fn traced(scene: &Scene, run: &Run) -> Result<String, Skip> {
    let report = scene.scratch.join("callgrind");
    let args = [
        "--tool=callgrind",
        "--dump-instr=yes",
        "--compress-strings=no",
        "--compress-pos=no",
        "--demangle=no",
    ];
    let mut args: Vec<_> = args.map(Into::into).into();
    let mut to = OsString::from("--callgrind-out-file=");
    to.push(&report);
    args.push(to);
    run.under("valgrind", &args)?;
    let report = std::fs::read_to_string(report);
    report.map_err(|e| Skip(format!("valgrind could not trace here: {e}")))
}

/// The functions that a report names, but for the C library's: that lies in front as a whole.
fn names(report: &str) -> BTreeSet<String> {
    let names = report.lines().filter_map(|line| line.strip_prefix("fn="));
    names.filter_map(pattern).collect()
}

/// The pattern for a function's name. What changes from one build to the next (a number of its
/// crate or of its copy) matches anything, as does what the linker would take for its own syntax.
fn pattern(name: &str) -> Option<String> {
    let name = name.split('\'').next().unwrap_or(name);
    let stable = if name.starts_with("_R") {
        let (name, copy) = name.split_once('.').map_or((name, ""), |(name, _)| (name, "*"));
        without_user(&without_crate_numbers(name)) + copy
    } else {
        (name == "main").then(|| name.to_owned())?
    };
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "._*".contains(sign);
    Some(stable.replace(|sign| !is_plain(sign), "?"))
}

/// A generic function's name ends with the crate that uses it, or with a reference to a crate named
/// before. Of copies that are equal one is kept, and each executable may keep another.
fn without_user(name: &str) -> String {
    let is_crate = |path: &str| {
        let name = path.trim_start_matches(|sign: char| sign.is_ascii_digit());
        path[..path.len() - name.len()].parse() == Ok(name.len())
    };
    let is_back = |path: &str| path.len() <= 4 && path.chars().all(char::is_alphanumeric);
    let named = name.rfind("Cs*_").filter(|at| is_crate(&name[at + 4..]));
    let back =
        || name.rfind('B').filter(|at| name[at + 1..].strip_suffix('_').is_some_and(is_back));
    match named.or_else(back) {
        Some(at) => format!("{}*", &name[..at]),
        None => name.to_owned(),
    }
}

/// `Cs`, a number of about twelve digits to the base 62, `_`.
fn without_crate_numbers(name: &str) -> String {
    let mut kept = String::new();
    for (index, piece) in name.split("Cs").enumerate() {
        match piece.split_once('_') {
            _ if index == 0 => kept.push_str(piece),
            Some((number, rest)) if number.len() > 8 => kept.push_str(&format!("Cs*_{rest}")),
            _ => kept.push_str(&format!("Cs{piece}")),
        }
    }
    kept
}

/// What the calls have in common: constants without a name, and those of the C library.
const SHARED: &str = "    *(.rodata.cst4 .rodata.cst8 .rodata.cst16 .rodata.str1.1)\n    *libc.a:(.rodata .rodata.*)\n";

/// The linker keeps the order: first what the idle calls run, then what each call adds. The tables of
/// functions lie behind them, since each page that is touched brings its neighbours.
fn script(calls: &[BTreeSet<String>]) -> String {
    let list = |call: &BTreeSet<String>| {
        let code = call.iter().map(|name| format!("    *(.text.{name} .text.unlikely.{name})\n"));
        let tables = call.iter().map(|name| {
            format!("    *(.rodata.{name} .rodata.unlikely.{name} .rodata..Lswitch.table.{name})\n")
        });
        code.chain(tables).collect::<String>()
    };
    let lists: Vec<String> = calls.iter().map(list).collect();
    format!(
        "/* Made by `RALPH_UPDATE=1 RALPH_REQUIRE_GATES=1 cargo test -p ralph --test gates the_code`.\n   \
         Puts the code that calls of hooks run in front of the rest, first that of a session without a loop.\n   \
         The kernel maps sixteen pages for each one that is touched, so what lies apart costs memory and time. */\n\
         SECTIONS {{\n  .text.every : {{\n    *crt1.o(.text .text.*)\n    *crtbegin.o(.text .text.*)\n{}    *libc.a:(.text .text.*)\n  }}\n  \
         .fini : {{\n    KEEP(*(SORT_NONE(.fini)))\n  }}\n  \
         .text.live : {{\n{}{SHARED}{}  }}\n}}\nINSERT BEFORE .text;\n",
        lists[0],
        lists[1],
        lists[2..].concat()
    )
}

#[test]
fn a_function_is_found_whatever_changes_from_one_build_to_the_next() {
    let found = |name: &str| pattern(name).unwrap_or_default();
    assert_eq!(found("_RNvNtCsaz6eC2DG7lh_3std3env7__var_os"), "_RNvNtCs*_3std3env7__var_os");
    assert_eq!(
        found("_RNvMNtCs2Nb3gJ4iU0I_5alloc5allocNtB2_6Global18alloc_impl_runtime.1089"),
        "_RNvMNtCs*_5alloc5allocNtB2_6Global18alloc_impl_runtime*"
    );
    assert_eq!(
        found("_RINvMNtCs2Nb3gJ4iU0I_5alloc5boxed3newtECs4ehPzzDeckd_11ralph_hooks"),
        "_RINvMNtCs*_5alloc5boxed3newtE*"
    );
    assert_eq!(found("main"), "main");
    assert_eq!(pattern("memcpy"), None);
}
