//! Reads the tokens of one line one after the other.

use super::token::{Kind, Line, Token};
use super::{Outcome, ParseError, Reason, Source};

/// The tokens of one line, and how far they have been read.
pub(super) struct Cursor<'t, 'a> {
    pub(super) tokens: &'t [Token<'a>],
    pub(super) at: usize,
    pub(super) source: Source<'a>,
}

impl<'t, 'a> Cursor<'t, 'a> {
    pub(super) fn new(source: Source<'a>, line: &'t Line<'a>) -> Cursor<'t, 'a> {
        Cursor { tokens: &line.tokens, at: 0, source }
    }

    /// Whether the next token is this mark or word.
    pub(super) fn is_at(&self, text: &str) -> bool {
        self.peek().is_some_and(|t| t.text == text && t.kind != Kind::Text)
    }

    /// Skips a type after `:` or `->`, up to one of these marks outside all brackets.
    pub(super) fn skip_type(&mut self, ends: &[&str]) {
        let mut n_open = 0;
        while let Some(token) = self.peek() {
            if n_open == 0 && ends.contains(&token.text) {
                return;
            }
            match token.text {
                "(" | "[" => n_open += 1,
                ")" | "]" => n_open -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }

    pub(super) fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).copied()
    }

    /// The next token, or an error at the end of the line.
    pub(super) fn next(&mut self, wanted: &'static str) -> Outcome<Token<'a>> {
        let token = self.peek().ok_or_else(|| self.unexpected(wanted))?;
        self.at += 1;
        Ok(token)
    }

    pub(super) fn unexpected(&self, wanted: &'static str) -> Box<ParseError> {
        match self.peek() {
            Some(token) => self.source.error(&token, Reason::Expected { wanted }),
            None => {
                let last = self.tokens[self.tokens.len() - 1];
                let end = Token {
                    text: "",
                    column: last.column + last.text.chars().count(),
                    at: last.at + last.text.len(),
                    ..last
                };
                self.source.error(&end, Reason::Expected { wanted })
            }
        }
    }

    pub(super) fn expect(&mut self, text: &str, wanted: &'static str) -> Outcome<()> {
        match self.peek() {
            Some(token) if token.text == text && token.kind != Kind::Text => {
                self.at += 1;
                Ok(())
            }
            _ => Err(self.unexpected(wanted)),
        }
    }

    pub(super) fn name(&mut self, wanted: &'static str) -> Outcome<Token<'a>> {
        match self.peek() {
            Some(token) if token.kind == Kind::Name => {
                self.at += 1;
                Ok(token)
            }
            _ => Err(self.unexpected(wanted)),
        }
    }

    pub(super) fn end(&self) -> Outcome<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("the end of the line")),
        }
    }
}
