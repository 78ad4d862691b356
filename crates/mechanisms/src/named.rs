//! Closed lists of names.

/// An enumeration whose variants have names: all of them in order, the first being the default, and
/// written and serialised by name.
macro_rules! named {
    (
        $(#[$meta:meta])*
        pub enum $type:ident { $($(#[$doc:meta])* $variant:ident => $name:literal,)* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $type {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl $type {
            /// All of them, the default first.
            pub const ALL: &[$type] = &[$($type::$variant,)*];

            /// All names, in the same order.
            pub const NAMES: &[&str] = &[$($name,)*];

            /// Its name, as it is written and serialised.
            pub fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name,)*
                }
            }
        }

        impl Default for $type {
            fn default() -> Self {
                $type::ALL[0]
            }
        }

        impl reticent_events::Word for $type {
            fn read(text: &str) -> Result<Self, String> {
                let found = $type::ALL.iter().find(|known| known.name() == text).copied();
                found.ok_or_else(|| format!("it must be one of {}", $type::NAMES.join(", ")))
            }

            fn write(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

pub(crate) use named;
