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
    let (mut every, mut live) = (BTreeSet::new(), Vec::new());
    for hook in hooks {
        let program = named.get(hook).ok_or_else(|| Skip(format!("there is no {hook}")))?;
        every.extend(sections(&traced(scene, &scene.idle(hook)?.of(program))?));
        for run in scene.live_calls(hook)? {
            let run = sections(&traced(scene, &run.of(program))?);
            live.extend(run.into_iter().filter(|name| !live.contains(name)).collect::<Vec<_>>());
        }
        println!("{hook}: {} functions, {} in a live loop", every.len(), live.len());
    }
    live.retain(|name| !every.contains(name));
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.cargo/code-order.ld");
    std::fs::write(file, script(&every, &live)).expect("the tree can be written");
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

/// The sections of the functions that a report names, one for each function that is not the C library's: that lies in front
/// as a whole.
fn sections(report: &str) -> BTreeSet<String> {
    let names = report.lines().filter_map(|line| line.strip_prefix("fn="));
    names.filter_map(section).collect()
}

/// The pattern for a function's section. What changes from one build to the next (a hash of the function, a number of its
/// crate or of its copy) matches anything, as does what the linker would take for its own syntax.
fn section(name: &str) -> Option<String> {
    let name = name.split('\'').next().unwrap_or(name);
    let stable = if name.starts_with("_ZN") {
        format!("{}*", &name[..name.rfind("17h")?])
    } else if name.starts_with("_R") {
        let (name, copy) = name.split_once('.').map_or((name, ""), |(name, _)| (name, "*"));
        without_crate_numbers(name) + copy
    } else {
        (name == "main").then(|| name.to_owned())?
    };
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "._*".contains(sign);
    Some(format!(".text.{}", stable.replace(|sign| !is_plain(sign), "?")))
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

/// The linker keeps the order: what the first hook runs comes first.
fn script(every: &BTreeSet<String>, live: &[String]) -> String {
    let list = |name: &String| format!("    *({name})\n");
    let (every, live): (String, String) =
        (every.iter().map(list).collect(), live.iter().map(list).collect());
    format!(
        "/* Made by `RALPH_UPDATE=1 RALPH_REQUIRE_GATES=1 cargo test -p ralph --test gates the_code`.\n   \
         Puts the code that calls of hooks run in front of the rest, first that of a session without a loop.\n   \
         The kernel maps sixteen pages for each one that runs, so code that lies apart costs memory and time. */\n\
         SECTIONS {{\n  .text.every : {{\n{every}    *libc.a:(.text .text.*)\n  }}\n  \
         .text.live : {{\n{live}  }}\n}}\nINSERT BEFORE .text;\n"
    )
}

#[test]
fn a_section_is_found_whatever_changes_from_one_build_to_the_next() {
    let found = |name: &str| section(name).unwrap_or_default();
    assert_eq!(
        found("_ZN8ralph_io5store4home3set17hecf9fdf29b083443E"),
        ".text._ZN8ralph_io5store4home3set*"
    );
    assert_eq!(
        found("_ZN4core6option15Option$LT$T$GT$3map17h12165279fa4d206dE"),
        ".text._ZN4core6option15Option?LT?T?GT?3map*"
    );
    assert_eq!(found("_RNvNtCsaz6eC2DG7lh_3std3env7__var_os"), ".text._RNvNtCs*_3std3env7__var_os");
    assert_eq!(
        found("_RNvMNtCs2Nb3gJ4iU0I_5alloc5allocNtB2_6Global18alloc_impl_runtime.1089"),
        ".text._RNvMNtCs*_5alloc5allocNtB2_6Global18alloc_impl_runtime*"
    );
    assert_eq!(found("main"), ".text.main");
    assert_eq!(section("memcpy"), None);
}
