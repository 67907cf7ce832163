"""The studio: a page on this machine to try disclosures on a table, see what they tell, and take them away.

| module | what it does |
|---|---|
| `app` | the routes, and nothing else |
| `security` | who may talk to the studio: token, Host, Origin, sizes, and what pages may load |
| `workspace` | the folders: uploads and results of this session, and finished results that are kept |
| `tables`, `samples` | tables as the page shows them; invented tables to begin with |
| `question` | what was pointed at, checked, as arguments of the library; what is feasible before solving |
| `jobs`, `worker` | one search at a time in a process of its own, with its progress; stopped or cancelled at any time |
| `estimate` | what to expect of a choice: a quick answer that holds, and what each promise costs |
| `result` | a release as numbers, words and pictures, and what playing the adversary needs |
| `copying` | the question as a command and as Python |
| `curve` | what more could be told if something may leak |
| `rounds` | 300 rounds of the best adversary, with side knowledge and with the promise against it; who learns more |
| `game` | playing the adversary by hand, with the score |
| `handing` | the card, the disclosed codes and the report, for downloading |

The page holds no state: reload it, and it shows where things are.
"""
