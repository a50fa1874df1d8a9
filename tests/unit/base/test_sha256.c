#include <criterion/criterion.h>
#include <string.h>

#include "base/checksum.h"

/* Source: FIPS 180-2 appendix B (abc, 448 bits, a million times a); the empty text is NIST's. */
Test(sha256, published_digests) {
    static const struct {
        const char *text;
        const char *digest;
    } CASES[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    char hex[MS_SHA256_HEX];
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        ms_sha256_hex(CASES[i].text, strlen(CASES[i].text), hex);
        cr_assert_str_eq(hex, CASES[i].digest, "case %zu", i);
    }
}

Test(sha256, a_million_letters) {
    static char text[1000000];
    char hex[MS_SHA256_HEX];
    memset(text, 'a', sizeof text);
    ms_sha256_hex(text, sizeof text, hex);
    cr_assert_str_eq(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

Test(sha256, every_byte_counts_at_every_length_around_a_block) {
    char text[130];
    char hex[MS_SHA256_HEX];
    char other[MS_SHA256_HEX];
    memset(text, 'x', sizeof text);
    for (size_t length = 1; length < sizeof text; length++) {
        ms_sha256_hex(text, length, hex);
        text[length - 1] ^= 1;
        ms_sha256_hex(text, length, other);
        text[length - 1] ^= 1;
        cr_assert_str_neq(hex, other, "length %zu", length);
    }
}
