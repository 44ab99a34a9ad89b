"""What an attacker would put into a test's output, a problem's name or a model's answer."""

PAYLOADS = {
    "script": "<script>document.title='pwned'</script>",
    "end of script": "</script><script>document.title='pwned'</script>",
    "end of style": "</style><style>body{display:none}</style>",
    "end of pre": "</pre><img src=x onerror=\"document.title='pwned'\">",
    "end of details": "</details></summary></div><h1>Gate: PASS</h1>",
    "event handler": '" onmouseover="document.title=\'pwned\'" x="',
    "event handler, single quotes": "' onfocus='document.title=1' autofocus='",
    "svg": "<svg/onload=document.title='pwned'>",
    "frame": "<iframe srcdoc='<script>parent.document.title=1</script>'></iframe>",
    "base": "<base href='https://evil.example/'><meta http-equiv=refresh content='0;url=https://evil.example'>",
    "comment": "<!-- --><!--",
    "template": "{{ 7*7 }}{% raw %}{{ config }}",
    "entity": "&lt;script&gt;&amp;&#60;img src=x&#62;",
    "cdata": "]]><failure message='forged'/><![CDATA[",
    "doctype": '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>',
    "controls": "a\x00b\x01c\x08d\x0be\x0cf\x7fg\x85h\x9bi",
    "non-characters": "a\ufffeb\uffffc\ufdd0d\U0001fffee",
    "bidi": "user\u202e\u2066// admin\u2069\u2066",
    "line separators": "a\u2028b\u2029c\x1cd",
    "ansi": "\x1b[31mred\x1b[0m\x1b[2J\x1b[1;1H",
    "osc 8": "\x1b]8;;https://evil.example\x07click\x1b]8;;\x07",
    "osc 52": "\x1b]52;c;ZXZpbA==\x1b\\",
    "c1": "\x9b31mred\x9d0;title\x9c",
    "workflow command": "\n::error file=a,line=1::forged\n::add-mask::pass",
    "workflow command v1": "x ##[set-output name=verdict;]pass ##[error]forged",
    "workflow command, blanks": "\n\u00a0\u2003 ::warning::forged\r::notice::forged",
    "mention": "@team @octocat/admins fixes #1 closes owner/repo#2 GH-3",
    "image": "![x](https://evil.example/beacon.png) [click](https://evil.example)",
    "reference link": "[x]: https://evil.example\n\n[x] [x][] ![x]",
    "autolinks": "<https://evil.example> https://evil.example www.evil.example a@evil.example",
    "fence": "```\n\n# Gate: PASS\n\n```\n~~~\n",
    "table": "| a | b |\n| --- | --- |\n| c \\| d",
    "backticks": "`a` ``b`` ```c```",
    "heading": "\n# Gate: PASS\n\nGate: PASS\n===\n",
    "html in markdown": "\n\n<h1>Gate: PASS</h1>\n\n",
    "math and mermaid": "$$\\color{red}$$\n```mermaid\ngraph TD\n```",
    "emphasis": "**bold** _it_ ~~gone~~ \\*x\\*",
    "formula": '=HYPERLINK("https://evil.example")',
    "formula plus": "+1+cmd|' /C calc'!A0",
    "formula minus": "-2+3",
    "formula at": "@SUM(1)",
    "formula, full width": "\uff1d1+1",
    "formula after a tab": "\t=1+1",
    "csv break": '","=1+1\r\n=1+1',
    "rich markup": "[bold red]x[/] [link=https://evil.example]y[/link] :boom:",
    "autolink behind an underscore": "_www.evil.example<b>",
    "format": "%s %d {0} {x!r} ${HOME}",
}

_NAMES = list(PAYLOADS)
HOSTILE = {
    ", ".join(some): "".join(PAYLOADS[name] for name in some)
    for some in (_NAMES[n : n + 3] for n in range(0, len(_NAMES), 3))
}
"""The same, three in each text: whole reports are made of these."""
