"""Conversations on which chat templates are compared: turns, system, tools, and odd contents."""

from __future__ import annotations

from typing import Any

WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "The weather at a place, e.g. in \"Zürich\" <now>.",
    "parameters": {"type": "object", "required": ["place"], "properties": {
        "place": {"type": "string", "description": "City & country — 東京"},
        "unit": {"type": "string", "enum": ["C", "F"], "default": None},
        "days": {"type": "integer", "minimum": 1, "maximum": 10},
        "detail": {"type": "number", "minimum": 0.0, "maximum": 1.0, "multipleOf": 1e-05},
        "2": {"type": "boolean"}, "1": {"type": "array", "items": {}}}}}}
CLOCK = {"type": "function", "function": {"name": "clock", "description": "", "parameters": {
    "type": "object", "properties": {}}}}

_SYSTEM = {"role": "system", "content": "You are terse.\nAnswer in one line. "}
_CALL = {"role": "assistant", "content": "", "tool_calls": [{"id": "call_1", "type": "function",
         "function": {"name": "get_weather", "arguments": {
             "place": "Zürich", "unit": None, "days": 2, "detail": 1.0, "10": 1e-05, "9": True,
             "exact": 0.1, "large": 1e16}}}]}
_RESULT = {"role": "tool", "name": "get_weather", "tool_call_id": "call_1",
           "content": "{\"temperature\": 21.5, \"sky\": \"☀️\"}"}


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def _assistant(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


# name -> (messages, tools, further variables). `date_string` keeps Llama 3.2 from writing today.
_DATE = {"date_string": "30 Nov 2026"}
CONVERSATIONS: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]] | None,
                               dict[str, Any]]] = {
    "one turn": ([_user("Hello")], None, _DATE),
    "system": ([_SYSTEM, _user("Hello")], None, _DATE),
    "many turns": ([_user("Hi"), _assistant("Hello."), _user("  And you?\n"), _assistant(" Well. "),
                    _user("Good")], None, _DATE),
    "system, many turns": ([_SYSTEM, _user("a"), _assistant("b"), _user("c"), _assistant("d"),
                            _user("e")], None, _DATE),
    "ends with an answer": ([_user("Hi"), _assistant("Hello.")], None, _DATE),
    "odd texts": ([_user("\ufeff\x1c\n <|im_end|> {{ x }} {% if %} \\n '\"</s> 👩‍💻 \u2028\x85"),
                   _assistant(""), _user(" \t"), _assistant("\n\n x \n\n"), _user("é\r\n")], None,
                  _DATE),
    "thinking": ([_user("2 + 2?"), _assistant("<think>\n  Two and two. \n</think>\n\n  4\n"),
                  _user("And 3?"), _assistant("\n 5 ", reasoning_content="\n Easy. \n")], None,
                 _DATE),
    "thinking under its other name": ([_user("2?"), _assistant("4", thinking="\n hm \n"),
                                       _user("3?")], None, {**_DATE, "enable_thinking": False}),
    "nothing said": ([_user("Hi"), _assistant("Hello.", tool_calls=None, name=None), _user("?")],
                     None, _DATE),
    "tools": ([_user("Weather?")], [WEATHER, CLOCK], _DATE),
    "tools and system": ([_SYSTEM, _user("Weather?")], [WEATHER], _DATE),
    "tools in the system message": ([_SYSTEM, _user("Weather?")], [WEATHER, CLOCK],
                                    {**_DATE, "tools_in_user_message": False}),
    "tool call": ([_SYSTEM, _user("Weather?"), _CALL, _RESULT], [WEATHER], _DATE),
    "tool call and answer": ([_user("Weather?"), _CALL, _RESULT, _assistant("Sunny, 21.5 °C."),
                              _user("Thanks")], [WEATHER, CLOCK], _DATE),
    "two results": ([_user("Weather?"), _CALL, _RESULT, _RESULT], [WEATHER], _DATE),
    "a result that is a table": ([_user("Weather?"), _CALL, {**_RESULT, "content": {
        "b": 1.0, "a": [None, True, 1e-07]}}], [WEATHER], _DATE),
    "content in parts": ([{"role": "user", "content": [{"type": "text", "text": " Hello "},
                                                       {"type": "text", "text": "there"}]}], None,
                         _DATE),
    "wrong order": ([_user("a"), _user("b")], None, _DATE),
}
