//! Puts mutants into a file, each behind its switch.
//!
//! The text stays in its place and gets text around it, so that switches nest. The changed form of an expression holds no other
//! switch: only one is on at a time, and a chain of operators would otherwise double with each of them.

use std::collections::HashMap;
use std::ops::Range;

use proc_macro2::LineColumn;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Arm, BinOp, Expr, Pat, ReturnType, Type};

use crate::Mutant;

/// A file with switches, and where in it each mutant has text of its own.
pub struct Rewritten {
    pub text: String,
    pub places: Vec<(u32, Range<usize>)>,
}

/// Adds the numbers of those that are in the file now to `switched`.
pub fn rewrite(
    text: &str,
    mutants: &[(u32, &Mutant)],
    switched: &mut Vec<u32>,
) -> syn::Result<Rewritten> {
    let mut wanted: HashMap<_, Vec<_>> = HashMap::new();
    for (number, mutant) in mutants {
        wanted.entry((mutant.genre.as_str(), mutant.start)).or_default().push((*number, *mutant));
    }
    let mut finder = Finder { text, wanted, edits: Vec::new() };
    finder.visit_file(&syn::parse_file(text)?);
    let rewritten = applied(text, &finder.edits);
    switched.extend(rewritten.places.iter().map(|(number, _)| number));
    Ok(rewritten)
}

/// Text around a range. What belongs to a mutant has its number.
struct Edit {
    range: Range<usize>,
    before: Vec<(Option<u32>, String)>,
    after: &'static str,
}

fn applied(text: &str, edits: &[Edit]) -> Rewritten {
    // At one place, what ends there comes before what begins there; the inner one ends first and begins last. Of two
    // around the same text the one found later is the inner one.
    let last = usize::MAX;
    let edits = edits.iter().enumerate();
    let ends = edits
        .clone()
        .map(|(n, edit)| (edit.range.end, false, last - edit.range.start, last - n, edit));
    let begins = edits.map(|(n, edit)| (edit.range.start, true, last - edit.range.end, n, edit));
    let mut places: Vec<_> = ends.chain(begins).filter(|place| place.0 <= text.len()).collect();
    places.sort_by_key(|(at, begins, order, n, _)| (*at, *begins, *order, *n));
    let mut rewritten = Rewritten { text: String::new(), places: Vec::new() };
    let mut done = 0;
    for (at, begins, _, _, edit) in places {
        rewritten.text.push_str(&text[done..at]);
        done = at;
        if !begins {
            rewritten.text.push_str(edit.after);
            continue;
        }
        for (number, piece) in &edit.before {
            let start = rewritten.text.len();
            rewritten.text.push_str(piece);
            rewritten.places.extend(number.map(|number| (number, start..rewritten.text.len())));
        }
    }
    rewritten.text.push_str(&text[done..]);
    rewritten
}

type Wanted<'a> = HashMap<(&'a str, (usize, usize)), Vec<(u32, &'a Mutant)>>;

struct Finder<'a> {
    text: &'a str,
    wanted: Wanted<'a>,
    edits: Vec<Edit>,
}

impl<'a> Finder<'a> {
    fn take(&mut self, genre: &'static str, at: LineColumn) -> Vec<(u32, &'a Mutant)> {
        self.wanted.remove(&(genre, (at.line, at.column + 1))).unwrap_or_default()
    }

    /// Has each mutant choose the expression without `cut`, where it has its replacement.
    fn choose(
        &mut self,
        whole: &Range<usize>,
        cut: &Range<usize>,
        mutants: Vec<(u32, &'a Mutant)>,
    ) {
        let mut before = vec![(None, "(".to_owned())];
        for (number, mutant) in mutants {
            let (head, tail) = (&self.text[whole.start..cut.start], &self.text[cut.end..whole.end]);
            let changed = format!("{head}{}{tail}", mutant.replacement);
            before.push((
                Some(number),
                format!("if crate::mutant::is({number}) {{ ({changed}) }} else "),
            ));
        }
        before.push((None, "{ (".to_owned()));
        if before.len() > 2 {
            self.edits.push(Edit { range: whole.clone(), before, after: ") })" });
        }
    }

    /// Another value of a type that the compiler finds in the body (`impl`) would be another type.
    fn body(&mut self, output: &ReturnType, block: &syn::Block) {
        let Some(first) = block.stmts.first() else { return };
        if matches!(output, ReturnType::Type(_, of) if matches!(**of, Type::ImplTrait(_))) {
            return;
        }
        let mutants = self.take("FnValue", first.span().start());
        let value = |(number, mutant): (u32, &Mutant)| {
            let value = &mutant.replacement;
            (Some(number), format!("if crate::mutant::is({number}) {{ return {value}; }} "))
        };
        let before = mutants.into_iter().map(value).collect();
        let range = first.span().byte_range().start..usize::MAX;
        self.edits.push(Edit { range, before, after: "" });
    }
}

/// Whether it binds names, which it can only do where it stands.
fn binds(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(both) => binds(&both.left) || binds(&both.right),
        _ => false,
    }
}

/// What the compiler computes is not visited: it cannot ask for a switch.
impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_type_array(&mut self, _: &'ast syn::TypeArray) {}
    fn visit_variant(&mut self, _: &'ast syn::Variant) {}
    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if function.sig.constness.is_none() {
            self.body(&function.sig.output, &function.block);
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if function.sig.constness.is_none() {
            self.body(&function.sig.output, &function.block);
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.body(&function.sig.output, block);
        }
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_expr_binary(&mut self, both: &'ast syn::ExprBinary) {
        if !(matches!(both.op, BinOp::And(_)) && (binds(&both.left) || binds(&both.right))) {
            let mutants = self.take("BinaryOperator", both.op.span().start());
            self.choose(&both.span().byte_range(), &both.op.span().byte_range(), mutants);
        }
        visit::visit_expr_binary(self, both);
    }

    fn visit_expr_unary(&mut self, one: &'ast syn::ExprUnary) {
        let mutants = self.take("UnaryOperator", one.op.span().start());
        self.choose(&one.span().byte_range(), &one.op.span().byte_range(), mutants);
        visit::visit_expr_unary(self, one);
    }

    fn visit_expr_struct(&mut self, literal: &'ast syn::ExprStruct) {
        let whole = literal.span().byte_range();
        for pair in literal.fields.pairs() {
            let field = pair.value().span();
            let mutants = self.take("StructField", field.start());
            let end = pair.punct().map_or(field, |comma| comma.span()).byte_range().end;
            self.choose(&whole, &(field.byte_range().start..end), mutants);
        }
        visit::visit_expr_struct(self, literal);
    }

    /// Without an arm for the rest, the compiler asks for each.
    fn visit_expr_match(&mut self, choice: &'ast syn::ExprMatch) {
        let takes_the_rest = |arm: &Arm| arm.guard.is_none() && matches!(arm.pat, Pat::Wild(_));
        if !choice.arms.iter().any(takes_the_rest) {
            for arm in &choice.arms {
                self.take("MatchArm", arm.span().start());
            }
        }
        visit::visit_expr_match(self, choice);
    }

    fn visit_arm(&mut self, arm: &'ast Arm) {
        let deleted = self.take("MatchArm", arm.span().start());
        let end = arm.pat.span().byte_range().end;
        let guard = |(number, _)| (Some(number), format!(" if !crate::mutant::is({number})"));
        let before = deleted.into_iter().map(guard).collect();
        self.edits.push(Edit { range: end..end, before, after: "" });
        if let Some((_, guard)) = &arm.guard {
            let (no, yes): (Vec<_>, Vec<_>) = self
                .take("MatchArmGuard", guard.span().start())
                .into_iter()
                .partition(|(_, mutant)| mutant.replacement == "false");
            let mut before = Vec::new();
            for (number, _) in no {
                before.push((Some(number), format!("!crate::mutant::is({number}) && ")));
            }
            if !binds(guard) {
                before.push((None, "(".to_owned()));
                for (number, _) in yes {
                    before.push((Some(number), format!("crate::mutant::is({number}) || ")));
                }
                before.push((None, "(".to_owned()));
            }
            let after = if binds(guard) { "" } else { "))" };
            self.edits.push(Edit { range: guard.span().byte_range(), before, after });
        }
        visit::visit_arm(self, arm);
    }
}
