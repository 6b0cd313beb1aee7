//! Tokens: the secret that a viewer on another machine needs to see a run.

use std::fs::File;
use std::io::{self, Read as _};

/// A secret of letters, digits and `-._~`, which need no escaping in an address or a cookie.
pub(crate) struct Token(String);

/// Why a text is no token.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TokenError {
    /// Short enough to be guessed.
    TooShort { n_characters: usize },
    /// A character that would need escaping.
    Character { found: char },
}

impl Token {
    /// A shorter token could be guessed.
    pub(crate) const N_CHARACTERS_MIN: usize = 16;

    pub(crate) fn parse(text: &str) -> Result<Token, TokenError> {
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || "-._~".contains(*c);
        if let Some(found) = text.chars().find(|c| !is_plain(c)) {
            return Err(TokenError::Character { found });
        }
        match text.len() {
            n if n < Token::N_CHARACTERS_MIN => Err(TokenError::TooShort { n_characters: n }),
            _ => Ok(Token(text.to_owned())),
        }
    }

    /// A new token of 192 random bits from the system.
    pub(crate) fn random() -> io::Result<Token> {
        let mut bytes = [0u8; 24];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Token(bytes.iter().map(|b| format!("{b:02x}")).collect()))
    }

    /// Whether `offered` equals the token. The comparison takes the same time however many
    /// characters are right.
    pub(crate) fn is(&self, offered: &str) -> bool {
        let (own, offered) = (self.0.as_bytes(), offered.as_bytes());
        let mut difference = own.len() ^ offered.len();
        for (at, own) in own.iter().enumerate() {
            // Past the end of `offered`, zeros are compared instead, so that the token's length
            // cannot be measured either.
            let offered = offered.get(at).copied().unwrap_or(0);
            difference = std::hint::black_box(difference | usize::from(own ^ offered));
        }
        difference == 0
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_long_and_plain() {
        for text in ["abcdefghijklmnop", "ABC-._~0123456789"] {
            assert!(Token::parse(text).is_ok(), "{text}");
        }
        assert_eq!(Token::parse("short").err(), Some(TokenError::TooShort { n_characters: 5 }));
        for (text, found) in [
            ("sixteen or more;", ' '),
            ("abcdefghijklmnop;Path=/", ';'),
            ("abcdefghijklmnöp", 'ö'),
            ("abcdefghijklmn%20", '%'),
        ] {
            let error = Token::parse(text).err();
            assert_eq!(error, Some(TokenError::Character { found }), "{text}");
        }
    }

    #[test]
    fn only_the_whole_token_is_right() {
        let token = Token::parse("abcdefghijklmnop").unwrap();
        assert!(token.is("abcdefghijklmnop"));
        for wrong in [
            "",
            "abcdefghijklmno",
            "abcdefghijklmnopq",
            "abcdefghijklmnoq",
            "Abcdefghijklmnop",
            "abcdefghijklmnop\0",
        ] {
            assert!(!token.is(wrong), "{wrong:?}");
        }
    }

    #[test]
    fn random_tokens_are_tokens_and_differ() {
        let (one, other) = (Token::random().unwrap(), Token::random().unwrap());
        assert!(Token::parse(one.text()).is_ok());
        assert!(!one.is(other.text()));
    }
}
