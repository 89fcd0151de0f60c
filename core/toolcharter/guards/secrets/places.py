r"""Patterns of places where secrets are written: after the names of keys, in command lines, in connection strings.

They are for google-re2 over bytes in Latin-1, as in `patterns`. `re` reads the value from a match.
"""

_KEY_KINDS = (
    "api access secret private auth account encryption encrypt decryption signing sign signature master storage shared"
    " app application service client license licence session admin root deploy webhook hook integration ingest insert"
    " query write read project org user server hmac aes jwt rsa ssh crypto cipher cookie ca origin maps anon role"
    " publishable functions host consumer subscription primary secondary connection site team bot device pre[_-]?shared"
    " sas rapidapi stripe openai anthropic fernet vault flask django"
)
KEY = (
    r"(?i:passw(?:or)?ds?|passphrase|passcode|(?:\b|_|db|user|root|admin|ftp|smtp|mail|proxy|store)p(?:ass|sk)|pwd|pswd|secrets?|token"
    r"|bearer|authorization|credentials?|client-key-data|(?:\b|_)salt|(?-i:[a-z]Salt)"
    r"|(?:"
    + "|".join(sorted(_KEY_KINDS.split()))
    + r")[_. -]?key|apikey(?:[_-]?private)?|dockerconfigjson|dockercfg|[_:]auth|\bauth|authtoken"
    r"|session_?id|[?&;]sig|x-amz-signature|connection_?string|webhook_?url)"
)
KEY_END = r"(?i:[_.-]?(?:value|base|prod|production|dev|staging|test|live|old|new|primary|secondary|[0-9]{1,2}))?"
_OPAQUE_KINDS = (
    "validation ingestion routing gemini groq mistral deepseek cohere sendgrid mailgun twilio datadog deepl tavily serper serpapi"
    " pinecone elevenlabs openrouter perplexity fal azure aws google gcp shodan algolia"
)
OPAQUE = (
    r"(?i:[_-]pat|secret_?id|(?:unseal|recovery)[ _-]key(?:[ ][0-9]{1,2})?|(?:"
    + "|".join(sorted(_OPAQUE_KINDS.split()))
    + r")[_-]?key)"
)
"""Names of what may be a secret or have one's name: only a random value counts."""
_PAGE = r"(?i:(?:next|page|continuation|pagination|starting|skip|delta|sync|resume|resumption|scroll|after|paging|previous|prev)[_.-]?)"
"""Words before `token` in the name of a page token, such as `nextPageToken`."""
PAGE_TOKEN = _PAGE + r"{1,3}(?i:tokens?)(?:[^A-Za-z0-9]|$)"
"""The name of a page token, whose value is no secret, even if it is random."""
_OF_A_TEST = r"(?:(?:\b|_)(?i:test|fake|dummy|mock|example|sample|wrong|invalid)_)"
"""Prefixes of names whose value is the password of a test, which is no secret."""
_COLOUR = r"(?:\x1b\[[0-9;]{0,12}m)?"
# The key's closing quote, which may be escaped, and `]` as in `environ["TOKEN"] = ...`.
CLOSE = r"(?:\\{0,4}[\"'`])?\]?" + _COLOUR
SCHEME = r"(?i:(?:bearer|basic|token|digest|apikey|ssws|negotiate)[ \t]+)?"
KEY_BEFORE = KEY + KEY_END + CLOSE + r"[ \t]*(?:=>|:=|=|:)[ \t]*(?:\\{0,4}[\"'`])?" + SCHEME + r"\Z"
KEY_NAME = KEY + KEY_END + r"$"
"""The end of a JSON member's name that says that its text is a secret: `dbPassword`, `X-API-Key`."""

_BREAK = r"(?:(?:[|>][+-]?)?[ \t]*\r?\n[ \t]+)?"
_ATTRIBUTES = r"(?:[ \t]+[\w:.-]{1,40}=[\"'][^\"'<>\r\n]*[\"'])"
# Beside `=` and `:`, the syntax of XML, of an attribute beside its name, and of lists of names and values.
_EQUALS = (
    r"(?:(?:\*\*)?[ \t]*(?:\{[ \t]*\r?\n(?:[ \t]*(?:type|description|sensitive|nullable|ephemeral)[ \t]*=[^\r\n]*\r?\n)*"
    r"[ \t]*default[ \t]*=|=>|:=|\?=|==?|::?|[ \t]is:)(?:\*\*)?[ \t]*(?:!!(?:str|int|float)[ \t]+)?"
    + _BREAK
    + r"(?:string\([0-9]+\)[ \t]*)?|"
    + _ATTRIBUTES
    + r"*[ \t]*>(?:[ \t]*(?:\r?\n[ \t]*)?<(?i:value|string)>)?(?:<!\[CDATA\[)?|</key>[ \t]*(?:\r?\n[ \t]*)?<string>|"
    + _ATTRIBUTES
    + r"*?[ \t]+(?i:value|content)[ \t]*=[ \t]*"
    r"|(?:,[ \t]*(?:\r?\n[ \t]*)?\"[A-Za-z]+\"[ \t]*:[ \t]*(?:true|false|null|\"[^\"\r\n]*\"))?"
    r",?[ \t]*(?:\r?\n[ \t]*)?\\{0,4}[\"']?(?i:(?:parameter|output|secure)?value)\\{0,4}[\"']?[ \t]*:[ \t]*)" + _COLOUR
)
# Digits and characters that names and words do not have, but secrets do.
_TELLS = r"0-9!@#$%^*?+~"
_BARE = r"\s\"'`,;&<>(){}\[\]|\\\x1b"
_JOINED = r"[A-Za-z]+(?:_[A-Za-z]+)+"
_UNQUOTED = (
    r"(?:[^" + _BARE + "$" + _TELLS + r"][^" + _BARE + _TELLS + r"]*)?[" + _TELLS + r"][^" + _BARE + r"]*|[A-Za-z]{8,}"
    r"|[A-Za-z+/]{6,}={1,2}|" + _JOINED
)
_END = r"(?:[\s\"'`,;&<>)}\]|\\\x1b]|$)"


def _quoted(quote: str) -> str:
    plain = rf"[^{quote}\\\r\n{_TELLS}]|\\."
    return rf"(?:\(\s*)?{quote}{SCHEME}((?:{plain})*[{_TELLS}](?:[^{quote}\\\r\n]|\\.)*|[A-Za-z]{{8,}}|[A-Za-z+/]{{6,}}={{1,2}}|{_JOINED}){quote}"


def _escaped(quote: str) -> str:
    return rf"\\{{1,4}}{quote}{SCHEME}([^\"'\\\r\n]{{4,}})\\{{1,4}}{quote}"


_STRONG = r"([A-Za-z0-9+/_.~!@#$%^-][A-Za-z0-9+/=_.~:!@#$%^&*?-]{11,})"
# Weaker connections between a key and a value. They count only for values that must be random.
_SOFT = (
    r"(?:[ \t]+(?:to|is|was|=)[ \t]+|[ \t]*<|[ \t]*->[ \t]*|[ \t]*,[ \t]*|[ \t]*\|[ \t]*|\\{0,4}\([ \t]*|[ \t]+"
    r"|:?</(?:td|th|dt|b|strong|label|span)>[ \t]*:?[ \t]*(?:\r?\n[ \t]*)?(?:<(?:td|dd|code|span|kbd)[^<>\r\n]{0,80}>){0,2})\\{0,4}[\"'`]?"
    + _COLOUR
)
_VALUE = "|".join(
    (_escaped('"'), _escaped("'"), _quoted('"'), _quoted("'"), _quoted("`"), SCHEME + rf"({_UNQUOTED}){_END}")
)
_FLAG = r"--[A-Za-z0-9-]*" + KEY + r"[ \t]+[\"']?([^\s\"'`$<>(){}\[\]|\\;-][^\s\"']{5,})"
_BEARER = r"(?i:\b(?:bearer|ssws))[ \t]+([A-Za-z0-9._~+/-]{16,}=*)"
_NETRC = r"\blogin[ \t]+\S+(?:[ \t]+|[ \t]*\r?\n[ \t]*)password[ \t]+[\"']?([^\s\"'<>{}]{4,})"
_CURL_USER = r"\b(?:curl|wget|https?|xhs?|etcdctl)[ \t](?:[^\r\n]*?[ \t])??(?:-u|-a|--user|--auth|--proxy-user)[ \t=]*[\"']?[^\s:\"'$]+:([^\s\"'$]{4,})"
_COMMAND = (
    r"\b(?:sshpass[ \t]+-p[ \t]*|(?:requirepass|masterauth)[ \t]+"
    r"|(?:mysql|mysqldump|mysqladmin|mariadb)[ \t](?:[^\r\n]*?[ \t])??-p|redis-cli[ \t](?:[^\r\n]*?[ \t])??-a[ \t]+)"
    r"[\"']?([^\s\"'$<>{}-][^\s\"']{3,})"
)
# Programs that take a password after an option of one letter: logins to registries and clouds, LDAP, archives, shares.
_LOGIN = (
    r"\b(?:(?:docker|podman|nerdctl|buildah|skopeo|helm|oras|crane|az|oc|cf|argocd|ibmcloud)[ \t](?:[^\r\n]*?[ \t])??login[ \t]"
    r"(?:[^\r\n]*?[ \t])??(?:-p[ \t=]*|--password[ \t=]+)"
    r"|ldap(?:search|add|modify|modrdn|delete|passwd|whoami|compare|exop)[ \t](?:[^\r\n]*?[ \t])??-[wy][ \t]*"
    r"|(?:mongo|mongosh|mongodump|mongorestore|mongoexport|mongoimport|psexec|twine|cqlsh|beeline|smbmap|nxc|netexec|crackmapexec|cme"
    r"|evil-winrm|bloodhound-python|hydra|medusa)[ \t](?:[^\r\n]*?[ \t])??-p[ \t]+"
    r"|ssh-keygen[ \t](?:[^\r\n]*?[ \t])??-[NP][ \t]+|openssl[ \t]+enc[ \t](?:[^\r\n]*?[ \t])??-k[ \t]+"
    r"|security[ \t]+add-(?:generic|internet)-password[ \t](?:[^\r\n]*?[ \t])??-w[ \t]+"
    r"|gh[ \t]+secret[ \t]+set[ \t](?:[^\r\n]*?[ \t])??(?:-b|--body)[ \t=]+"
    r"|az[ \t]+keyvault[ \t]+secret[ \t]+set[ \t](?:[^\r\n]*?[ \t])??--value[ \t=]+"
    r"|aws[ \t]+ssm[ \t]+put-parameter[ \t](?:[^\r\n]*?[ \t])??SecureString[ \t](?:[^\r\n]*?[ \t])??--value[ \t=]+"
    r"|aws[ \t]+secretsmanager[ \t](?:[^\r\n]*?[ \t])??--secret-string[ \t=]+"
    r"|poetry[ \t]+config[ \t]+http-basic\.\S+[ \t]+\S+[ \t]+|mc[ \t]+alias[ \t]+set[ \t]+(?:\S+[ \t]+){3}"
    r"|vault[ \t]+operator[ \t]+unseal[ \t]+|ngrok[ \t]+(?:config[ \t]+add-)?authtoken[ \t]+|(?:snyk|cf)[ \t]+auth[ \t]+(?:\S+[ \t]+)?"
    r"|pulumi[ \t]+config[ \t]+set[ \t]+--secret[ \t]+\S+[ \t]+|chamber[ \t]+write[ \t]+(?:\S+[ \t]+){2}|credstash[ \t]+put[ \t]+\S+[ \t]+"
    r"|rootpw[ \t]+--plaintext[ \t]+|ansible-vault[ \t]+encrypt_string[ \t]+|wpa_passphrase[ \t]+\S+[ \t]+|radtest[ \t]+\S+[ \t]+"
    r"|(?:sqlcmd|bcp|tsql|unzip|zip|ipmitool|mosquitto_pub|mosquitto_sub)[ \t](?:[^\r\n]*?[ \t])??-P[ \t]*"
    r"|(?:7z|7za|7zr|rar|unrar)[ \t](?:[^\r\n]*?[ \t])??-p"
    r"|(?:smbclient|rpcclient|smbget|smbmap|net|winexe)[ \t](?:[^\r\n]*?[ \t])??(?:-U|--user)[ \t=]*[\"']?[\w.\\/-]+%"
    r"|lftp[ \t](?:[^\r\n]*?[ \t])??-u[ \t]*[\"']?[\w.@-]+,"
    r"|(?:keytool|jarsigner)[ \t](?:[^\r\n]*?[ \t])??-(?:store|key|deststore|srcstore)pass[ \t]+"
    r"|openssl[ \t](?:[^\r\n]*?[ \t])??-pass(?:in|out)?[ \t]+[\"']?pass:"
    r"|(?:xfreerdp|rdesktop)[ \t](?:[^\r\n]*?[ \t])??(?:/p:|-p[ \t]+)"
    r"|htpasswd[ \t]+-[A-Za-z]*b[A-Za-z]*[ \t]+(?:\S+[ \t]+){1,2}"
    r"|rabbitmqctl[ \t]+(?:add_user|change_password)[ \t]+\S+[ \t]+"
    r"|(?:vault|cargo|doppler)[ \t]+login[ \t]+"
    r"|(?:setenv|ENV|ARG|set[ \t]+-[gUx]{1,3})[ \t]+[\w.-]*" + KEY + KEY_END + r"[ \t]+)"
    r"[\"']?([^\s\"'$<>{}-][^\s\"'<>]{3,})"
)
# What a person may call with any word: the value has to be mixed.
_WINDOWS = (
    r"\b(?:net[ \t]+(?:user[ \t]+[^\s/]+|use(?:[ \t]+(?:[A-Za-z]:|\*))?[ \t]+\\{2,8}[^\s]+)[ \t]+|schtasks[ \t](?:[^\r\n]*?[ \t])??/rp[ \t]+)"
    r"[\"']?([^\s\"'$<>{}/*-][^\s\"'<>]{3,})"
)
# `CORP/ann:...@10.0.0.5`, as Impacket's programs take it.
_IMPACKET = r"(?:\bimpacket-\w+|(?:exec|dump|client|SPNs|Users|TGT|sid|computer)\.py)[ \t](?:[^\r\n]*?[ \t])??[\"']?[\w.-]+[/\\][\w.$-]+:([^\s@\"'/]{4,})@"
# The text that a shell passes to the input of a program that reads a password: `echo ... |` before it, `<<<` after it.
_INPUT_READERS = (
    r"(?:[ \t](?:--(?:[a-z]+-)*(?:password|passphrase|pass|token|secret)-stdin|--with-token|--passphrase-fd[ \t=]0)\b"
    r"|\bsudo[ \t]+(?:-[A-Za-z]+[ \t]+)*-[A-Za-z]*S\b|\b(?:kinit|cryptsetup)\b|\bwrangler[ \t]+(?:pages[ \t]+)?secret[ \t]+put\b"
    r"|\bpasswd[ \t](?:[^\r\n|]*?[ \t])?--stdin\b|--data-file=-)"
)
_CHPASSWD = r"\b(?:sudo[ \t]+)?(?:[\w./-]*/)?chpasswd\b"
_USER = r"[^\s:\"'$`|<>]+:"


def _quoted_or_bare(user: str) -> str:
    """The value of a program's input, in double quotes, in single quotes or without quotes."""
    return (
        rf"(?:\"{user}([^\"$`\r\n][^\"\r\n]{{2,}})\"|'{user}([^'\r\n]{{3,}})'|{user}([^\s\"'$`|<>-][^\s\"'|<>]{{2,}}))"
    )


def _piped_input(program: str, user: str) -> str:
    """The input that is passed to *program*.

    In the alternative with `<<<`, no pattern precedes *program*. It would be tried from each position to the line's end.
    """
    echoed = rf"\b(?:echo|printf)[ \t]+(?:-[neE]+[ \t]+)?{_quoted_or_bare(user)}[ \t]*\|[^\r\n|]*?{program}"
    return rf"{echoed}|{program}[^\r\n|]*<<<[ \t]*{_quoted_or_bare(user)}"


_PIPED_INPUT = _piped_input(_INPUT_READERS, "") + "|" + _piped_input(_CHPASSWD, _USER)

_COMMAND_HINT = (
    r"\b(?:twine|cqlsh|beeline|nxc|netexec|crackmapexec|cme|evil-winrm|bloodhound-python|hydra|medusa|ssh-keygen|schtasks)[ \t](?:[^\r\n]*[ \t])?[-/][pPNr]"
    r"|\bopenssl[ \t]+enc[ \t]|\bsecurity[ \t]+add-|\bgh[ \t]+secret[ \t]|\baz[ \t]+keyvault[ \t]|\baws[ \t]+(?:ssm|secretsmanager)[ \t]"
    r"|\bpoetry[ \t]+config[ \t]|\bmc[ \t]+alias[ \t]|\bvault[ \t]+operator[ \t]|\bngrok[ \t]|\b(?:snyk|cf)[ \t]+auth[ \t]|\bpulumi[ \t]+config[ \t]"
    r"|\bchamber[ \t]+write[ \t]|\bcredstash[ \t]+put[ \t]|\bansible-vault[ \t]+enc|\brootpw[ \t]|\bwpa_passphrase[ \t]|\bradtest[ \t]|\bnet[ \t]+use"
    r"|(?:\bimpacket-\w+|(?:exec|dump|client|SPNs|Users|TGT|sid|computer)\.py)[ \t][^\r\n]*[/\\][\w.$-]+:[^\s@\"'/]{4,}@|\bkinit\b|\bcryptsetup\b|\bwrangler[ \t]|--data-file=-"
)
"""Finds something wherever one of the programs above is given a secret that another hint would not see."""
_CONNECTION = r";[ ]?(?i:pwd|password)=([^\s;\"'<>{}()$,&|][^\s;\"'<>{}(),&|]{2,})(?:[;\s\"'<\\]|$)"
"""The password in a connection string of ODBC or ADO, with any characters."""
# An authorization scheme of any name, followed by its credential.
_AUTHORIZATION = (
    r"(?i:authorization)\\{0,4}[\"'`]?\]?[ \t]*(?:=>|:=|:|=|,)[ \t]*\\{0,4}[\"'`]?[A-Za-z][A-Za-z0-9_-]{1,30}[ \t]+"
    r"([^\s\"'`,;&<>(){}\[\]|\\$][^\s\"'`,;<>|\\]{5,})"
)
# Words joined by underscores are a name in code, but a password if a file, an address or an option assigns them.
_ASSIGNED = (
    r"(?:(?m:^)[ \t]*(?:[-+>#][ \t]?)?(?:(?i:export|set|env)[ \t]+)?[\w.-]*|--[\w-]*|[?&,]|\w=[^\s\"'(),;]{1,64}[ \t]+)"
    r"(?i:passw(?:or)?d|pwd|passphrase|(?:\b|_)pass)=[\"']?(" + _JOINED + r")(?:[&;#\"' \t\r\\]|(?m:$))"
)
_NAME = r"(?i:passw(?:or)?d|pwd|passphrase)"
# The same with blanks around the equals sign or after the colon, if the line contains nothing else.
_WORDS = (
    r"(?m:^)[ \t]*(?:[-+>#][ \t]?)?[\w.-]*(?:" + _NAME + r"|(?i:(?:\b|_)pass))(?:[ \t]*=[ \t]*|:[ \t]+)"
    r"(" + _JOINED + r")[ \t\r]*(?m:$)"
)
# An option takes exactly one value, which may look like anything.
_OPTION = (
    r"--[A-Za-z0-9-]*"
    + _NAME
    + r"=(?:[\"']([^\"'\\$`\r\n]{4,})[\"']|([^\s\"'`$<>(){}\[\]|\\;&,*-][^\s\"'`$<>(){}\[\]|\\;&,]{3,}))"
)
# A member of JSON whose value is on the next line.
_MEMBER = (
    KEY + KEY_END + r"\\{0,4}[\"'][ \t]*:[ \t]*\r?\n[ \t]*(?:\\{0,4}[\"']" + SCHEME + r"([^\"'\\\r\n]{6,})\\{0,4}[\"']"
    r"|(-?[0-9][0-9.eE+-]{2,})(?:[\s,}\]]|$))"
)
# The keys and salts of WordPress, which consist of any characters (https://api.wordpress.org/secret-key/1.1/salt/).
_SALTED = (
    r"(?i:(?:(?:secure_)?auth|logged_in|nonce)_(?:key|salt))[\"']?[ \t]*(?:,|=>|=|:)[ \t]*"
    r"(?:\"((?:[^\"\\\r\n]|\\.){40,})\"|'((?:[^'\\\r\n]|\\.){40,})')"
)
# A default value, or a variable with its type. The value is in quotes.
_TYPED = (
    r"[ \t]*:[ \t]*&?(?:'static[ \t]+)?[A-Za-z_][A-Za-z0-9_.<>\[\]?|]{0,40}[ \t]*=[ \t]*|[ \t]+string[ \t]*=[ \t]*"
    r"|[ \t]*\)?[ \t]*(?:\|\||\?\?|\?:|or\b)[ \t]*"
)
_DEFAULT = KEY + KEY_END + CLOSE + rf"(?:{_TYPED})[\"'`]([^\"'`\r\n\\]{{6,}})[\"'`]"
# If only words connect key and value, a short value needs letters, digits and special characters.
_BESIDE_WORD = (
    r"(?i:passw(?:or)?d|passphrase|passcode|(?:\b|_)pass|pwd)"
    r"(?:[\"'`]?[ \t]+(?:is|was|to)[ \t]+[\"'`]?|[\"'][ \t]*,[ \t]*[\"']|`?[ \t]*\|[ \t]*`?)([^\s\"'`|<>(){}]{6,})(?:[\s\"'`|]|$)"
)
OPENVPN_LOGIN = r"<(?:auth|http-proxy)-user-pass>[ \t]*\r?\n"
"""The line above a name and a password, each on its own line, in OpenVPN's settings."""
_BELOW_OPENVPN_NAME = OPENVPN_LOGIN + r"[^\r\n<]*\r?\n[ \t]*([^\s<][^\r\n]*)"
_JWK = r"(?:[\"']|(?m:^)[ \t]*)(?:d|dp|dq|qi)\\{0,4}[\"']?[ \t]*:[ \t]*\\{0,4}[\"']?([A-Za-z0-9_-]{40,})\\{0,4}(?:[\"'\s,}]|$)"
"""Members of a private JSON Web Key whose names nothing else has (RFC 7518, sections 6.2.2 and 6.3.2)."""
_ARN = r"\barn:[a-z-]{1,20}:[^\s\"'`,<>{}()]+"
"""Matched without a group, so that `secret:` within the name of a resource is not taken for a key."""
_BADGE = r"\bbadge\.svg\?token=[A-Za-z0-9]{10}\b"
"""Matched without a group, too: the token of a badge gives access to the badge only, and public pages contain it."""
# Passwords in SQL statements, connection strings, client options and password files of databases.
_SQL = (
    r"(?:(?:\bIDENTIFIED|(?i:\buser[ \t]+\S+[ \t]+identified))(?i:[ \t]+(?:with[ \t]+[\w'\"]+[ \t]+)?(?:by|as)[ \t]+"
    r"(?:password[ \t]+)?)|(?i:\b(?:with|encrypted|login)[ \t]+password[ \t]+))['\"]([^'\"\r\n]{4,})['\"]"
    r"|(?i:\buser[ \t]+\S+[ \t]+identified[ \t]+by[ \t]+)([^\s'\"<>{}$;&:]{4,})"
)
_BRACES = r"(?i:\bpwd|\bpassword)=\{([^{}\r\n]{4,})\}"
_ORACLE = (
    r"(?:\b(?:sqlplus|sqlldr|expdp|impdp|rman|sqlcl)[ \t]+(?:-\w+[ \t]+)*[\"']?[A-Za-z]\w*"
    r"|\bjdbc:oracle:(?:thin|oci8?):[^\s/@:]+)/[\"']?([^\s@/\"'$<>{}]{4,})[\"']?@"
)
_PGPASS = r"(?m:^)[A-Za-z0-9*][\w.*-]*:(?:\*|5[0-9]{3}|6[45][0-9]{2}):[^\s:(),]+:[^\s:/(),]+:([^\s:]{4,})"
# A request's signature, the response to a challenge (RFC 7616, section 3.4), the MAC of Hawk.
_SIGNED = (
    r"\b[Ss]ignature=[\"']?([A-Za-z0-9+/]{40,}={0,2})|\bresponse=\\{0,4}\"?([0-9a-f]{32,64})\b"
    r"|\bmac=\\{0,4}\"([A-Za-z0-9+/]{27,}={0,2})\\{0,4}\""
)

# What clients say to servers of mail, chat and caches when they log in.
_SERVER_LOGIN = (
    r"(?:\bAUTH(?:[ \t]+(?:PLAIN|LOGIN|XOAUTH2|[a-z][\w.-]{0,30}))?|(?:\bIDENTIFY|:identify)(?:[ \t]+[\w-]{1,30})?"
    r"|[0-9][ \t]+LOGIN[ \t]+[\"']?[^\s\"']+[\"']?)[ \t]+[\"']?([^\s\"'<>]{6,})"
)
# Settings of routers and firewalls: the number says how the value is kept, and each of its ways can be undone.
_DEVICE = r"\b(?:password|passwd|secret|psksecret|key|key-string|community)[ \t]+(?:[05789]|ENC|encrypted)[ \t]+[\"']?([^\s\"'<>]{4,})"
_COMMUNITY = r"\bsnmp-server[ \t]+community[ \t]+([^\s\"'<>]{4,})"
_DSN = r":([^\s:@\"'`/]{4,})@(?:tcp|unix)\("
"""A connection of Go's driver for MySQL."""
# The secret half behind the public one: in `passwd-s3fs`, in a row of a table, in what `aws --output text` prints.
_AWS_PAIR = (
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}[\"']?[ \t]*[,:;|\t ][ \t]*(?:[0-9TZ:+.-]{10,32}[\t ,|]+)?[\"']?"
    r"([A-Za-z0-9+/]{40})(?:[^A-Za-z0-9+/=]|$)"
)
# The words of a wallet (BIP 39): twelve or more in a row, none of one or two letters, as sentences have them.
_WALLET = r"(?i:mnemonic|(?:seed|recovery|backup)[ _-]?(?:phrase|words))[\"']?[ \t]*(?:[:=]|is:?)[ \t]*[\"']?((?:[a-z]{3,8}[ ]){11,23}[a-z]{3,8})\b"
_SECURE_STRING = r"(?i:ConvertTo-SecureString)[ \t]+(?:-[A-Za-z]+[ \t]+)*[\"']([^\"'$\r\n]{4,})[\"']"
_BUNDLE = r"\bBUNDLE_[A-Z0-9_]*__[A-Z0-9_]+[\"']?(?:=|:)[ \t]*[\"']?([\w.%-]+:[^\s\"'/]{6,})"
"""A host of Bundler's settings, and what to log in with."""
_ACL = r"\b(?i:user|setuser)[ \t]+\S+[ \t]+on[ \t]+>([^\s]{4,})"
"""A user of Redis."""
# As Google makes them for programs: sixteen letters, shown in four words.
_SIXTEEN = r"(?i:passw(?:or)?d)[\"']?(?:[ \t]*[:=][ \t]*|[ \t]+is[ \t]+)[\"']?([a-z]{4}[ ][a-z]{4}[ ][a-z]{4}[ ][a-z]{4})(?:[\s\"'.,]|$)"
_RELAY = r"(?m:^)\[[\w.-]+\]:[0-9]{2,5}[ \t]+[^\s:]+:([^\s:]{6,})[ \t\r]*(?m:$)"
"""A line of Postfix's `sasl_passwd`."""
_OPAQUE = (
    OPAQUE + KEY_END + r"\\{0,4}[\"']?(?:[ \t]*(?:=>|:=|=|:|>)|[ \t]is:)[ \t]*\\{0,4}[\"'`]?([A-Za-z0-9+/_=-]{20,})"
)
_FUNCTION = r"\bazurewebsites\.net/[^\s\"'<>?]*\?(?:[^\s\"'<>?]*&)?code=([A-Za-z0-9/_=%+-]{30,})"

PLACED = "|".join(
    (
        _AUTHORIZATION,
        _ASSIGNED,
        _DEFAULT,
        _MEMBER,
        _SALTED,
        _OPTION,
        _WORDS,
        rf"(?:{_PAGE}{{1,3}}|{_OF_A_TEST})?" + KEY + KEY_END + CLOSE + rf"(?:{_EQUALS}(?:{_VALUE})|{_SOFT}{_STRONG})",
        _FLAG,
        _BEARER,
        _NETRC,
        _CURL_USER,
        _COMMAND,
        _SQL,
        _BRACES,
        _ORACLE,
        _PGPASS,
        _SIGNED,
        _LOGIN,
        _CONNECTION,
        _JWK,
        _BESIDE_WORD,
        _PIPED_INPUT,
        _BELOW_OPENVPN_NAME,
        _WINDOWS,
        _IMPACKET,
        _SERVER_LOGIN,
        _DEVICE,
        _COMMUNITY,
        _DSN,
        _AWS_PAIR,
        _WALLET,
        _SECURE_STRING,
        _BUNDLE,
        _ACL,
        _SIXTEEN,
        _RELAY,
        _OPAQUE,
        _FUNCTION,
        _ARN,
        _BADGE,
    )
)
"""Values in a telling place. In `re`, the group that matched last is the value: see `PlacedGroup`."""


class PlacedGroup:
    """The groups of `PLACED`."""

    AUTHORIZATION, ASSIGNED, DEFAULT, OPTION, OPTION_BARE, WORDS = 1, 2, 3, 8, 9, 10
    FLAG, NETRC, COMMAND, BRACES, PGPASS, JWK, NEAR = 18, 20, 22, 25, 27, 33, 34
    DEVICE, COMMUNITY, SIXTEEN = 51, 52, 59
    MEMBER = frozenset({4, 5})
    SALTED = frozenset({6, 7})
    QUOTED = frozenset({3, 4, 6, 7, OPTION, 11, 12, 13, 14, 15})
    STRONG = frozenset({17, 19, 28, 54, 61})
    MIXED = frozenset({48, 50, 60})
    """Groups whose words may be a sentence's, too."""
    PASSWORDS = frozenset({23, 24, 26, 29, 30, 31, 32, *range(35, 48), 49, 53, *range(55, 59), 62})
    """Groups that match only passwords, with any characters."""
    WHOLE = frozenset({*PASSWORDS, *MIXED, ASSIGNED, WORDS, BRACES, PGPASS, JWK, DEVICE, COMMUNITY})
    """Groups in which a full stop or colon at the end is part of the value, not of the sentence around it."""


_SPACE = r"(?:[ \t]|\\t)"
PLACE_HINT = (
    KEY + KEY_END + r"(?:\\{0,9}[\"'`])?\]?(?:\*\*)?(?:(?:\x1b|\\u001b)\[[0-9;]{0,12}m)?"
    r"(?:"
    + _SPACE
    + r"*(?:[:=?>|<,({]|->)|"
    + _SPACE
    + r"+(?:to|is|was|value|content|string)\b|\)?"
    + _SPACE
    + r"*(?:or\b|\|\||\?)|(?:\r?\n|\\r|\\n)?"
    + _SPACE
    + r"*[vV]alue"
    r"|" + _SPACE + r"+(?:[\"'`]?[A-Za-z0-9+/=_.~:!@#$%^&*?-]{12}|[\w:.-]{1,40}=\\{0,9}[\"']))"
    r"|(?i:\b(?:bearer|ssws))" + _SPACE + r"+[A-Za-z0-9._~+/-]{16}"
    r"|--[A-Za-z0-9-]*" + KEY + _SPACE + r"+\S"
    r"|\blogin[ \t]+\S+(?:[ \t]+|[ \t]*\r?\n[ \t]*)password[ \t]|[ \t](?:-u|-a|--user|--auth|--proxy-user)[ \t=]*[\"']?[^\s:\"'$]+:"
    r"|\b(?:sshpass|requirepass|masterauth|mysql|mysqldump|mysqladmin|mariadb|redis-cli|sqlplus|sqlldr|expdp|impdp|rman|sqlcl)[ \t\"]"
    r"|\"-[A-Za-z]\"[ ]?,"
    r"|(?i:identified|user|with|encrypted|login)[ \t]+(?i:by|as|password)[ \t]+['\"]|(?i:identified[ \t]+(?:by|with))"
    r"|(?i:authorization)\\{0,4}[\"'`]?\]?[ \t]*(?:=>|[:=,])"
    r"|\b(?:docker|podman|nerdctl|buildah|skopeo|helm|oras|crane|az|oc|cf|argocd|ibmcloud)[ \t](?:[^\r\n]*[ \t])?login[ \t]"
    r"|\bldap[a-z]{3,7}[ \t]|\b(?:mongo[a-z]{0,7}|psexec|sqlcmd|bcp|tsql|zip|unzip|ipmitool|mosquitto_[ps]ub|7z[ar]?|rar|unrar|smb[a-z]{3,6}"
    r"|rpcclient|net|winexe|lftp|xfreerdp|rdesktop)[ \t](?:[^\r\n]*[ \t])?[-/](?:[pPuUwy]|-user)"
    r"|\b(?:keytool|jarsigner|htpasswd|rabbitmqctl)[ \t]|\bopenssl[ \t][^\r\n]*-pass|\b(?:vault|cargo|doppler)[ \t]+login[ \t]"
    r"|\b(?:setenv|ENV|ARG|set[ \t]+-[gUx]{1,3})[ \t]"
    r"|\b(?:d|dp|dq|qi)\\{0,9}[\"']?[ \t]*:[ \t]*\\{0,9}[\"']?[A-Za-z0-9_-]{16}"
    r"|-stdin\b|--with-token|--passphrase-fd|\bsudo[ \t]+-|chpasswd|-user-pass>"
    r"|jdbc:oracle:|:(?:\*|5[0-9]{3}|6[45][0-9]{2}):[^\s:]+:|\b[Ss]ignature=|\bresponse=|\bmac=\\{0,9}\""
    r"|(?i:(?:logged_in|nonce)_key)\b"
    r"|" + _COMMAND_HINT + r"|"
    r"\bAUTH[ \t]+\S|(?:\bIDENTIFY|:identify)[ \t]|[0-9][ \t]+LOGIN[ \t]|(?:passw(?:or)?d|secret|key|key-string|community)[ \t]+(?:[05789]|ENC|encrypted)[ \t]"
    r"|\bsnmp-server[ \t]|@(?:tcp|unix)\(|\b(?:AKIA|ASIA)[A-Z0-9]{16}|(?i:mnemonic|(?:seed|recovery|backup)[ _-]?(?:phrase|words))"
    r"|(?i:ConvertTo-SecureString)|\bBUNDLE_[A-Z0-9_]+(?:\\{0,9}[\"'])?[=:]|[ \t]on[ \t]+>|(?m:^)\[[\w.-]+\]:[0-9]|"
    + OPAQUE
    + KEY_END
    + r"(?:\\{0,9}[\"'])?(?:[ \t]*[:=>]|[ \t]is:)|azurewebsites\.net/"
)
"""Finds a match wherever `PLACED` does, and elsewhere."""
