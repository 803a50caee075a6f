"""Strings on which tokenizers are compared: hand-written ones, and 2,000 of a fixed seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

SEED = 20261130
RANDOM_STRINGS = 2000

LANGUAGES = (
    "The quick brown fox jumps over the lazy dog. It's what they'd've said, isn't it?",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich — „wirklich“?",
    "Portez ce vieux whisky au juge blond qui fume : « déjà vu », n'est-ce pas ?",
    "El pingüino Wenceslao hizo kilómetros bajo exhaustiva lluvia y frío. ¿Sí? ¡No!",
    "Příliš žluťoučký kůň úpěl ďábelské ódy. Zażółć gęślą jaźń. Árvíztűrő tükörfúrógép.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю. Київ, їжак, ґанок.",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. Ο καλύμνιος σφουγγαράς ψιθύρισε.",
    "نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر. السَّلامُ عَلَيْكُم",
    "דג סקרן שט בים מאוכזב ולפתע מצא לו חברה. שָׁלוֹם",
    "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश। क्षत्रिय ज्ञान",
    "நல்ல தமிழ் எழுத்துக்கள். ಕನ್ನಡ ಭಾಷೆ. తెలుగు వికీ. മലയാളം. বাংলা ভাষা।",
    "ภาษาไทยเป็นภาษาที่มีระดับเสียงของคำแน่นอน ນ້ຳ ភាសាខ្មែរ မြန်မာဘာသာ བོད་སྐད།",
    "我能吞下玻璃而不伤身体。繁體中文：我能吞下玻璃而不傷身體。㐀㐁𠀀𠀁𪜀",
    "いろはにほへと ちりぬるを。カタカナ、ﾊﾝｶｸ、漢字。東京タワーは高い！",
    "키스의 고유조건은 입술끼리 만나야 하고. ᄒᆞᆫ글 가나다",
    "Tiếng Việt có nhiều dấu: ặ, ễ, ợ, ữ. Türkçe: İstanbul, ığdır. Íslenska: þæð.",
    "ქართული ენა. Հայերեն լեզու. አማርኛ። ᏣᎳᎩ ᐃᓄᒃᑎᑐᑦ ᠮᠣᠩᠭᠣᠯ",
)
EMOJI = (
    "🙂", "👩‍👩‍👧‍👦 family", "🏳️‍🌈🏴‍☠️", "🇩🇪🇫🇷🇯🇵", "👍🏽👎🏿", "❤️‍🔥 ☃︎ ☃️", "1️⃣ #️⃣", "🫠🪿🫨",
    "a🙂b🙂🙂 c", "©®™ ∀x∈ℝ: x²≥0 ½ Ⅳ ①",
)
CODE = (
    "def f(x: int) -> int:\n    return x ** 2  # square\n\n\nprint(f(3))\n",
    "\tif (a && b || !c) {\n\t\treturn x[i++] << 2;\r\n\t}\r\n",
    "<div class=\"a b\">&nbsp;&lt;tag/&gt;</div><!-- x -->",
    "SELECT * FROM t WHERE a='it''s' AND b<>1;--", "{\"a\": [1, 2.5e-3, null, true]}",
    "https://example.org/a/b?c=d&e=f#g user@example.com", "$\\frac{a}{b} = \\sqrt{x_1^2}$",
    "C:\\Users\\me\\file.txt ~/.bashrc ../x", "a_b-c.d/e::f->g=>h==i!==j",
    "'''\"\"\"```\n```python\n",
    "I'M YOU'RE WE'VE he'S it'D They'LL 'tis 'twas ’s’t", "camelCaseXMLHttpRequest snake_case",
)
SPACES = (
    "", " ", "  ", "   a", "a   ", "a  b   c    d", "\n", "\n\n", "\n\n\n \n", " \n", "\t\t\tx",
    "\r\n\r\n", "a\rb", "a \n b", "\u00a0\u00a0a", "\u2003em\u2009thin\u200bzero",
    "\u3000全角\u3000",
    "\x85next", "a\u2028b\u2029c", "\ufeffBOM", "x\ufeffy", "\u1680ogham", "\v\f", " " * 40,
    "\n" * 17, "\t \t \t", "▁ ▁▁ a▁b", "\u180emongolian", "end \u00a0\n",
)
DIGITS = (
    "0", "1234567890", "3.14159 1,000,000 1e-10 0x1F", "１２３４", "٠١٢٣٤٥٦٧٨٩", "०१२३४", "๑๒๓",
    "²³¹ ½¾ Ⅻ",
    "𝟘𝟙𝟚", "12:34:56 2026-11-30", "1st 2nd 3rd 4th", "a1b22c333d4444", "〇一二三", "㊿ ㋀ ⒈",
)
CONTROLS = (
    "\x00", "a\x00b", "\x13", "the\x13re", "a\x01\x02\x03b", "\x1b[31mred\x1b[0m", "\x7f\x80\x9f",
    "\u200e\u200f\u202a\u2066", "a\u0301e\u0308", "\u0301", "Å Å Å ﬁ ﬃ", "\ufffd", "\ufffe\uffff",
    "\U0010ffff", "\ue000\U000f0000", "in\x13ter\x13nation\x13al", " \x13 ", "\x16\x1e\x1f",
    "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢", "\u0344\u0958\u2126\u212a",
)
ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", "     \n\t\r",
    ".,;:!?'\"()[]{}<>/\\|@#$%^&*-_=+~`", "äöüßéèêñçøåæœþðžšłąęőű", "абвгдежзийклмнопрстуфхцчшщ",
    "αβγδεζηθικλμνξοπρστυφχψω", "אבגדהוזחטיכלמנסעפצקרשת", "ابتثجحخدذرزسشصضطظعغفقكلمنهوي",
    "अआइईउऊएऐओऔकखगघचछजझटठडढणतथदधन", "กขคงจฉชซญฎฏฐณดตถทธนบปผฝพฟภมยรลวศษสหอ",
    "的一是不了人我在有他这为之大来以个中上们", "あいうえおかきくけこアイウエオカキクケコ",
    "가나다라마바사아자차카타파하",
    "🙂😀😃🚀🔥💯👍🏽👩‍💻🇩🇪❤️", "٠١٢٣４５６²½Ⅷ๔",
    "\x00\x01\x13\x1b\x7f\x85\xa0\xad\u200b\u2028\ufeff▁",
)
WORDS = (
    "the", "and", "of", "to", " in", " is", "'s", "'ll", "n't", "ing", "tion", "Hello", "WORLD",
    "größe", "café", "привет", "你好", "こんにちは", "안녕", "مرحبا", "नमस्ते", "🙂", "👩‍💻", "\n",
    "\n\n", "    ", "\t", "1", "23", "456", "7890", "def ", "return", "==", "->", "();", "</p>",
    "http://", "\x13", "\r\n", "…", "—", "“", "”",
)


def samples(special: Sequence[str] = ()) -> list[str]:
    """The same strings every time.

    Args:
        special: tokens of the tokenizer, to stand inside the texts.
    """
    rng = random.Random(SEED)
    fixed = [*LANGUAGES, *EMOJI, *CODE, *SPACES, *DIGITS, *CONTROLS]
    words = [*WORDS, *special]
    fixed += [text for token in special for text in (
        token, f"a{token}b", f"Hi {token} you", f"\n{token}\n", f"{token}{token} ")]
    makers: Sequence[Callable[[random.Random], str]] = (
        _one_alphabet, _all_alphabets, lambda rng: _words(rng, words), _any_characters, _excerpt)
    made = [makers[i % len(makers)](rng) for i in range(RANDOM_STRINGS)]
    return fixed + made


def _one_alphabet(rng: random.Random) -> str:
    alphabet = rng.choice(ALPHABETS) + " "
    return "".join(rng.choices(alphabet, k=rng.randint(1, 60)))


def _all_alphabets(rng: random.Random) -> str:
    parts = ("".join(rng.choices(rng.choice(ALPHABETS), k=rng.randint(1, 6)))
             for _ in range(rng.randint(1, 12)))
    return "".join(parts)


def _words(rng: random.Random, words: Sequence[str]) -> str:
    return "".join(rng.choice(words) + rng.choice(("", "", " ")) for _ in range(rng.randint(1, 20)))


def _any_characters(rng: random.Random) -> str:
    """Characters of the Basic Multilingual Plane and, at times, from beyond; no surrogates."""
    def one() -> str:
        number = rng.randrange(0x11000 if rng.random() < 0.8 else 0x30000)
        return chr(number) if not 0xD800 <= number < 0xE000 else " "
    return "".join(one() for _ in range(rng.randint(1, 24)))


def _excerpt(rng: random.Random) -> str:
    """A piece of a hand-written text, cut anywhere, with something thrown in."""
    text = rng.choice([*LANGUAGES, *CODE])
    start = rng.randrange(len(text))
    piece = text[start:start + rng.randint(1, 40)]
    at = rng.randrange(len(piece) + 1)
    return piece[:at] + rng.choice(WORDS) + piece[at:]
