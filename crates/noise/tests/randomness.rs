//! The guarantees of the generators, seen from outside: values, threads, forks, other crates.

#![allow(unsafe_code, clippy::unwrap_used, clippy::panic)]

use std::collections::HashSet;
use std::thread;

use reticent_noise::randomness::{
    Provenance, RandomBits, RandomStreams, RandomnessError, SecureRandom, SecureStreams,
    SeededRandom, SeededStreams, with_thread_random,
};

fn draw<const N: usize>(random: &mut impl RandomBits) -> [u64; N] {
    std::array::from_fn(|_| random.next_u64().unwrap())
}

/// Computed with the Python package cryptography 48.0.0 (OpenSSL): ChaCha20 with the seed as key
/// and the initial state words 12 to 15 holding the block counter and the stream number.
#[test]
fn a_seed_gives_the_same_words_for_ever() {
    assert_eq!(
        draw(&mut SeededRandom::new(42)),
        [0x6ae30a5126e5761f, 0xb4eb7f595c8b5c62, 0xb389b53dce2c0416, 0x2666a8a4f7a882dc]
    );
    assert_eq!(
        draw(&mut SeededRandom::new(42).stream(7)),
        [0xb513e58e333e87e7, 0x2d733d768ebfcc73, 0xbfde8d2d5bfdfaf8, 0xc5b8f9a8ae106c07]
    );
    assert_eq!(
        draw(&mut SeededRandom::new(42).stream(u64::MAX)),
        [0xc81f3dbdbd20e2ba, 0x77961c54252b3711, 0xd03f3c79b14036a8, 0x1ad03ecbc9438eb9]
    );
    assert_eq!(
        draw(&mut SeededRandom::from_seed(std::array::from_fn(|i| i as u8)).stream(1 << 40)),
        [0x50adb210483912a9, 0x7f359fff0a4a87cc, 0x397ea88ee22cc149, 0x2b5f6636d19ca4e2]
    );
    let mut random = SeededRandom::new(42);
    let _: [u64; 1000] = draw(&mut random);
    assert_eq!(
        draw(&mut random),
        [0xfa9543f538c6136d, 0xe0d1bff651ebd731, 0xe235bb083a20385a, 0x1fd15515ff2b6f3d]
    );
}

#[test]
fn a_stream_starts_anew_whatever_was_drawn_from_another() {
    let mut random = SeededRandom::new(9).stream(4);
    let first: [u64; 8] = draw(&mut random);
    assert_eq!(draw(&mut random.stream(4)), first);
    assert_eq!(draw(&mut SeededStreams::new(9).stream(4).unwrap()), first);
    assert_ne!(draw(&mut SeededStreams::new(9).stream(3).unwrap()), first);
    assert_ne!(draw(&mut SeededStreams::new(8).stream(4).unwrap()), first);
}

#[test]
fn fills_of_any_length_continue_the_single_draws() {
    let expected: [u64; 3000] = draw(&mut SeededRandom::new(3));
    let mut random: Box<dyn RandomBits> = Box::new(SeededRandom::new(3));
    let mut drawn = Vec::new();
    for length in [0, 1, 511, 512, 513, 1, 1025] {
        let mut words = vec![0; length];
        random.fill(&mut words).unwrap();
        drawn.extend(words);
        drawn.push(random.next_u64().unwrap());
    }
    assert_eq!(drawn, expected[..drawn.len()]);
}

#[test]
fn seeded_streams_fill_a_table_alike_on_any_number_of_threads() {
    const PARTS: usize = 24;
    let fill = |threads: usize| {
        let streams = SeededStreams::new(5);
        let mut table = vec![[0; 700]; PARTS];
        thread::scope(|scope| {
            for (worker, parts) in table.chunks_mut(PARTS.div_ceil(threads)).enumerate() {
                let streams = &streams;
                scope.spawn(move || {
                    for (i, part) in parts.iter_mut().enumerate() {
                        let index = (worker * PARTS.div_ceil(threads) + i) as u64;
                        streams.stream(index).unwrap().fill(part).unwrap();
                    }
                });
            }
        });
        table
    };
    let single = fill(1);
    assert!([2, 5, 24].into_iter().all(|threads| fill(threads) == single));
    assert_eq!(single.as_flattened().iter().collect::<HashSet<_>>().len(), PARTS * 700);
}

#[test]
fn provenance_tells_a_seed_from_the_operating_system() {
    assert_eq!(SecureRandom::new().unwrap().provenance(), Provenance::Secure);
    assert_eq!(SecureStreams.stream(0).unwrap().provenance(), Provenance::Secure);
    assert_eq!(SecureStreams.provenance(), Provenance::Secure);
    assert_eq!(SeededRandom::new(0).provenance(), Provenance::Seeded);
    assert_eq!((&mut SeededRandom::new(0) as &mut dyn RandomBits).provenance(), Provenance::Seeded);
    assert_eq!(SeededStreams::new(0).provenance(), Provenance::Seeded);
    assert_eq!(format!("{} {}", Provenance::Secure, Provenance::Seeded), "secure seeded");
}

/// No two neighbouring words, hence no block of 64 bytes at any alignment, are drawn twice by any
/// of the threads, neither through the generator of the thread nor through a stream of its own.
///
/// Among `2^20` pairs of uniform words two are equal with probability below `2^(40 - 129) = 2^-89`:
/// that is the false alarm. (Of single words it would be `2^-25`, which is too much for a test that
/// is run often.)
#[test]
fn one_to_sixty_four_threads_never_repeat_two_words() {
    const WORDS: usize = 4096;
    let mut seen = HashSet::new();
    let mut drawn = 0;
    for threads in [1, 2, 4, 8, 16, 32, 64] {
        let batches: Vec<Vec<u64>> = thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|_| {
                    scope.spawn(|| {
                        let mut own = vec![0; WORDS];
                        with_thread_random(|random| random.fill(&mut own)).unwrap();
                        let mut stream = SecureStreams.stream(0).unwrap();
                        own.extend(draw::<WORDS>(&mut stream));
                        own
                    })
                })
                .collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        let pairs =
            batches.iter().flat_map(|words| words.windows(2)).map(|pair| (pair[0], pair[1]));
        seen.extend(pairs.inspect(|_| drawn += 1));
    }
    assert_eq!(drawn, 127 * (2 * WORDS - 1));
    assert_eq!(seen.len(), drawn);
}

#[test]
fn the_generator_of_a_thread_can_be_borrowed_while_it_is_borrowed() {
    let (outer, inner): ([u64; 64], [u64; 64]) = with_thread_random(|outer| {
        let inner = with_thread_random(|inner| Ok::<_, RandomnessError>(draw(inner)))?;
        Ok::<_, RandomnessError>((draw(outer), inner))
    })
    .unwrap();
    assert!(outer.iter().all(|word| !inner.contains(word)));
    let error = with_thread_random(|_| Err::<(), _>(RandomnessError::Closed));
    assert_eq!(error, Err(RandomnessError::Closed));
}

/// The largest deviation among the 64 bit positions, in standard deviations of a fair bit.
fn worst_bit(words: &[u64]) -> f64 {
    let worst = (0..64).map(|bit| {
        let ones = words.iter().filter(|word| **word >> bit & 1 == 1).count() as f64;
        let n = words.len() as f64;
        (ones - n / 2.0).abs() / (n.sqrt() / 2.0)
    });
    worst.fold(0.0, f64::max)
}

/// Pearson's statistic of the byte values, 255 degrees of freedom.
fn byte_chi_square(words: &[u64]) -> f64 {
    let mut counts = [0_u64; 256];
    for byte in words.iter().flat_map(|word| word.to_le_bytes()) {
        counts[usize::from(byte)] += 1;
    }
    let expected = words.len() as f64 * 8.0 / 256.0;
    counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum()
}

/// A sanity check, no evidence of security. False alarms, for each run of the secure generator:
/// below `64 erfc(7/√2) < 2e-10` for the bits and `1e-11` for the bytes.
#[test]
fn bits_and_bytes_are_balanced() {
    const CHI_SQUARE_255_AT_1E_11: f64 = 436.9;
    let mut secure = vec![0; 1 << 20];
    SecureRandom::new().unwrap().fill(&mut secure).unwrap();
    let mut seeded = vec![0; 1 << 20];
    SeededRandom::new(1).fill(&mut seeded).unwrap();
    for words in [&secure, &seeded] {
        assert!(worst_bit(words) < 7.0, "{}", worst_bit(words));
        assert!(byte_chi_square(words) < CHI_SQUARE_255_AT_1E_11, "{}", byte_chi_square(words));
    }

    // Power: a bit that is set with probability 0.51, and a byte that is zeroed once in 50 words,
    // must be noticed, or the above proves nothing.
    let biased: Vec<u64> = seeded
        .iter()
        .enumerate()
        .map(|(i, word)| if i % 50 == 0 { word | 1 << 17 } else { *word })
        .collect();
    assert!(worst_bit(&biased) > 7.0, "{}", worst_bit(&biased));
    let skewed: Vec<u64> = seeded
        .iter()
        .enumerate()
        .map(|(i, word)| if i % 50 == 0 { word & !0xff } else { *word })
        .collect();
    assert!(byte_chi_square(&skewed) > CHI_SQUARE_255_AT_1E_11, "{}", byte_chi_square(&skewed));
}

mod rand_core_interoperability {
    use rand_core::{Rng, TryCryptoRng, TryRng, UnwrapErr};
    use rand_distr::{Distribution, StandardNormal};

    use super::*;

    #[test]
    fn words_and_bytes_are_the_same_through_either_trait() {
        let expected: [u64; 4] = draw(&mut SeededRandom::new(42));
        let mut random = UnwrapErr(SeededRandom::new(42));
        assert_eq!((random.next_u64(), random.next_u32()), (expected[0], expected[1] as u32));
        let mut bytes = [0; 11];
        random.fill_bytes(&mut bytes);
        assert_eq!(bytes[..8], expected[2].to_le_bytes());
        assert_eq!(bytes[8..], expected[3].to_le_bytes()[..3]);
    }

    #[test]
    fn the_secure_generator_is_cryptographic_and_runs_rand_distr() {
        fn cryptographic<R: TryCryptoRng>(random: R) -> R {
            random
        }
        let mut random = UnwrapErr(cryptographic(SecureRandom::new().unwrap()));
        let draws: Vec<f64> = (0..1000).map(|_| StandardNormal.sample(&mut random)).collect();
        let mean = draws.iter().sum::<f64>() / 1000.0;
        // Seven standard deviations of the mean: false alarm 3e-12.
        assert!(mean.abs() < 7.0 / 1000_f64.sqrt(), "{mean}");
        assert!(SecureRandom::new().unwrap().try_next_u32().is_ok());
    }
}

#[cfg(unix)]
mod forks {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::fd::{FromRawFd, RawFd};

    use reticent_noise::randomness::{EntropySource, FastKeyErasure, OperatingSystem};

    use super::*;

    fn library_fork() -> i32 {
        // SAFETY: the child only draws, writes to a pipe, and exits without unwinding.
        unsafe { libc::fork() }
    }

    /// Runs `work` in a child that `fork` makes and returns its result to this process.
    fn in_a_child<const N: usize>(fork: fn() -> i32, work: impl FnOnce() -> [u64; N]) -> [u64; N] {
        let mut ends: [RawFd; 2] = [0; 2];
        // SAFETY: `ends` has room for the two descriptors, which are owned by nobody else.
        let (mut reader, mut writer) = unsafe {
            assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
            (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1]))
        };
        let child = fork();
        assert!(child >= 0, "fork failed");
        if child == 0 {
            let bytes = work().map(u64::to_le_bytes);
            let status = if writer.write_all(bytes.as_flattened()).is_ok() { 0 } else { 1 };
            // SAFETY: ends the child at once; nothing of the test harness runs in it.
            unsafe { libc::_exit(status) };
        }
        drop(writer);
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        let mut status = 0;
        // SAFETY: `child` is a child of this process that nobody else waits for.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0);
        let (words, _) = bytes.as_chunks::<8>();
        assert_eq!(words.len(), N);
        std::array::from_fn(|i| u64::from_le_bytes(words[i]))
    }

    fn assert_no_word_twice(batches: &[&[u64]]) {
        let all: HashSet<u64> = batches.iter().copied().flatten().copied().collect();
        assert_eq!(all.len(), batches.iter().map(|batch| batch.len()).sum::<usize>());
    }

    /// The false alarm, two equal words among 3200 uniform ones, has probability below `2^-41`.
    #[test]
    fn parent_child_sibling_and_grandchild_draw_differently() {
        let mut random = SecureRandom::new().unwrap();
        let before: [u64; 250] = draw(&mut random);
        let child: [u64; 700] = in_a_child(library_fork, || draw(&mut random));
        let sibling: [u64; 700] = in_a_child(library_fork, || {
            let mut words = [0; 700];
            random.fill(&mut words).unwrap();
            words
        });
        let grandchild: [u64; 700] = in_a_child(library_fork, || {
            let _: [u64; 5] = draw(&mut random);
            in_a_child(library_fork, || draw(&mut random))
        });
        let parent: [u64; 700] = draw(&mut random);
        assert_no_word_twice(&[&before, &child, &sibling, &grandchild, &parent]);
    }

    #[test]
    fn the_generator_of_a_thread_is_not_shared_with_a_child() {
        let from_thread = || {
            with_thread_random(|random| Ok::<[u64; 300], RandomnessError>(draw(random))).unwrap()
        };
        let before = from_thread();
        let child = in_a_child(library_fork, from_thread);
        let sibling = in_a_child(library_fork, from_thread);
        assert_no_word_twice(&[&before, &child, &sibling, &from_thread()]);
    }

    /// A child made without the C library is noticed once its inherited words are used up.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_child_of_a_bare_system_call_draws_differently_after_a_refill() {
        fn bare_clone() -> i32 {
            // SAFETY: no new stack and no shared memory: the same as a fork.
            unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as i32 }
        }
        let mut random = SecureRandom::new().unwrap();
        let _: [u64; 250] = draw(&mut random);
        let past_the_buffer = |random: &mut SecureRandom| {
            let _: [u64; 508] = draw(random);
            draw::<700>(random)
        };
        let child = in_a_child(bare_clone, || past_the_buffer(&mut random));
        let sibling = in_a_child(bare_clone, || past_the_buffer(&mut random));
        assert_no_word_twice(&[&child, &sibling, &past_the_buffer(&mut random)]);
    }

    /// Entropy for the process that made it only.
    struct AtHomeOnly {
        home: u32,
    }

    const NOT_AT_HOME: RandomnessError =
        RandomnessError::EntropyUnavailable(getrandom::Error::UNSUPPORTED);

    impl EntropySource for AtHomeOnly {
        fn read(&mut self, destination: &mut [u8]) -> Result<usize, RandomnessError> {
            if std::process::id() == self.home {
                OperatingSystem.read(destination)
            } else {
                Err(NOT_AT_HOME)
            }
        }
    }

    #[test]
    fn a_child_without_entropy_draws_nothing() {
        let mut random =
            FastKeyErasure::keyed_from(AtHomeOnly { home: std::process::id() }).unwrap();
        let _: [u64; 250] = draw(&mut random);
        let refused = in_a_child(library_fork, || {
            let first = random.next_u64() == Err(NOT_AT_HOME);
            let mut words = [0; 4];
            let filled = random.fill(&mut words) == Err(RandomnessError::Closed) && words == [0; 4];
            let later = (0..1000).all(|_| random.next_u64() == Err(RandomnessError::Closed));
            let created =
                FastKeyErasure::keyed_from(AtHomeOnly { home: 0 }).err() == Some(NOT_AT_HOME);
            [first, filled, later, created].map(u64::from)
        });
        assert_eq!(refused, [1; 4]);
        assert!(random.next_u64().is_ok());
        assert_eq!(random.provenance(), Provenance::Seeded);
    }
}

#[test]
fn messages_are_sentences() {
    let errors = [
        RandomnessError::EntropyUnavailable(getrandom::Error::UNSUPPORTED),
        RandomnessError::EntropyShort { delivered: 7, needed: 32 },
        RandomnessError::EntropyImplausible,
        RandomnessError::EntropyRepeated,
        RandomnessError::ForkUnnoticed { code: 12 },
        RandomnessError::Closed,
    ];
    for error in errors {
        let message = error.to_string();
        assert!(
            message.starts_with(|c: char| c.is_ascii_uppercase()) && message.ends_with('.'),
            "{message}"
        );
        assert!(!message.contains("  "), "{message}");
    }
}
