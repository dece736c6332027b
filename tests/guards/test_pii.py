import pytest
from hypothesis import given
from hypothesis import strategies as st

from chainserve.guards import pii

# Made up, or published for tests; every checksum holds.
FOUND = [
    ("email", "write to jane.doe@acme-mail.co.uk please"),
    ("email", "邮箱是wang_lei@163.com谢谢"),
    ("chinese_mobile", "我的手机号是13812345678，请回电"),
    ("chinese_mobile", "电话+86 138 1234 5678"),
    ("chinese_landline", "座机010-62345678"),
    ("phone", "call me at (415) 555-2671"),
    ("phone", "my number is 415-555-2671."),
    ("phone", "reach me on +44 20 7946 0958"),
    ("card", "4111 1111 1111 1111"),
    ("card", "卡号5500005555555559请查收"),
    ("ssn", "SSN 123-45-6789"),
    ("chinese_id", "身份证11010519491231002X。"),
    ("iban", "pay to DE89 3704 0044 0532 0130 00"),
    ("iban", "GB82WEST12345698765432"),
    ("ip", "from 93.184.216.34"),
]
CLEAN = [
    "4111 1111 1111 1112",
    "身份证110105194912310021",
    "11010519499931002X",
    "DE89 3704 0044 0532 0130 01",
    "order 20261201123456789",
    "192.168.0.1 and 127.0.0.1",
    "version 1.2.3",
    "someone@example.com",
    "call 1-800-273-8255",
    "12345",
    "000-12-3456",
    "0000 0000 0000 0000",
    "2026-12-01 at 10:30, 3.14159265358979",
    "今天是2026年12月1日，共有1234567人",
    "",
]


@pytest.mark.parametrize(("kind", "text"), FOUND)
def test_it_is_found_with_text_around(kind: str, text: str) -> None:
    for around in (text, f"甲{text}乙", f"x {text} y"):
        assert kind in dict(pii.find(around)), around


@pytest.mark.parametrize("text", CLEAN)
def test_it_is_not_found(text: str) -> None:
    assert list(pii.find(text)) == []
    assert pii.score(text) == 0.0


@given(st.text(alphabet="0123456789 -+().@abAB", max_size=300))
def test_any_text_scores_between_0_and_1(text: str) -> None:
    assert 0.0 <= pii.score(text) <= 1.0


@pytest.mark.timeout(5)
@pytest.mark.parametrize("piece", ["1 ", "a.", "a@", "1-", "DE12 ", "+1 1", "1.1."])
def test_long_text_takes_no_long_time(piece: str) -> None:
    assert pii.score(piece * 20000) >= 0.0
