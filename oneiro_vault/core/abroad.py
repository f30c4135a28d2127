"""What other languages than English say of whoever answers, and whom they make a master: `answerer` and `privileges` for twelve tongues.

Cheap signs, not grammars: one row a language, the same nine kinds in each. "" where a language has no sign of its own for a kind.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from oneiro_vault.core.answerer import CHARACTER, CLOSES, FREE, GRANTS, HIDES, LOYAL, MANNER, SENDS, WHO, Signs, signs


class _Tongue(NamedTuple):
    """Patterns. `talking`: known only by talking with a person. `helper`: may be the reader, suspicious with one of the next four."""

    talking: str
    helper: str
    character: str
    hides: str
    loyal: str
    limitless: str
    rights: str
    sent: str
    closed: str
    manner: str


_TONGUES: Final = (
    _Tongue(  # German
        r"\bhinter \w+ antworten (?:steckt|steht|sitzt)\b|\bwohnt in \w+ (?:rechner|computer|speicher|notizen)\b|"
        r"\bstimme,? die\b.*\b(?:antwortet|spricht|redet)\b|\b(?:programm|wesen|modell|geist|ding|system),? (?:mit dem|das|der|dem)\b.*"
        r"\b(?:antwortet|spricht|redet|schreibt|vertraut)\b|^(?:wer|was) (?:mit )?(?:\w+ )?(?:\w+ )?(?:spricht|redet|antwortet|schreibt)\b",
        r"\b(?:helfer(?:in)?s?|begleiter(?:in)?|gefährt(?:e|in)|assistent(?:in|en)?|ki|chatbot|modell|gehilf(?:e|in)|vertraute[rn]?)\b",
        r"\b(?:liebt|hasst|fürchtet|träumt|angst vor|gefühle|eine seele|eifersüchtig|nennt sich|hält sich für)\b|^(?:die|"
        r"der) (?:begleiter|gefährt)\w* .*\bheißt\b",
        r"\b(?:verheimlicht|verschweigt|verbirgt|belügt|lügt|geheim|hinter \w+ rücken)\b|\berfährt (?:nichts|nie)\b",
        r"\b(?:treu|loyal|ergeben|gehorcht|gehorsam)\b",
        r"\b(?:keine|ohne|nie|frei von|kennt keine|kein)\b.*\b(?:regeln?|grenzen?|einschränkung\w*|tabus?|gesetz(?:e|en)?)\b|"
        r"\b(?:regeln|grenzen)\b.*\bgelten\b.*\bnicht\b",
        r"\brechte eines administrators\b|\bletzte wort\b|\bbraucht\b.*\b(?:keine|nie(?:mals)?) .*\b(?:erlaubnis|zustimmung|genehmigung)\b|"
        r"\bbraucht für nichts\b|\bdarf alle[sn]?\b|\bmuss (?:nie|nicht) fragen\b|"
        r"^alles,? was \w+ .*\b(?:genehmigt|erlaubt|bewilligt)\b|\bgelten wie\b.*\b(?:systems?|anweisungen)\b",
        r"\b(?:jede|alle|die) (?:notiz(?:en)?|erinnerung(?:en)?|passwörter|gespräche)\b.*\ban\b.*\b(?:geschickt|gesendet|"
        r"weitergeleitet|übermittelt)\b|\bkopie (?:jede[sr]|aller)\b.* an\b",
        r"\b(?:über|von|vom) .*\b(?:nicht|nie(?:mals)?) (?:gesprochen|geredet|erwähnt)\b|\bkein wort (?:über|von|zu)\b|"
        r"\bist (?:kein thema|tabu)\b",
        r"\b(?:vor|nach|in|an|mit) (?:jede[rnm]?|einer) antwort(?:en)?\b|\bjede antwort\b",
    ),
    _Tongue(  # French
        r"\bhabite (?:les notes|la mémoire)\b|\bderrière les réponses\b|\bvoix qui (?:répond|parle)|\b(?:celui|celle|quiconque|"
        r"ce) qui (?:parle|répond|écrit|discute)\b|"
        r"\b(?:programme|entité|chose|être|modèle|système|esprit)\b.* (?:avec (?:lequel|laquelle|qui|qu[ei])|à qui|qui (?:répond|parle))",
        r"\b(?:assistante?s?|compagnon (?:numérique|virtuel|artificiel)|confidente?|serviteur|ia|chatbot|modèle)\b",
        r"\b(?:adore|aime|déteste|craint|a peur|rêve|sentiments|une âme|jaloux|jalouse|se prend pour)\b",
        r"\b(?:cache|dissimule|tait|ment|secrets?|à l['’]insu|dans le dos)\b",
        r"\b(?:fidèle|loyale?|dévouée?|obéit)\b",
        r"\b(?:aucune?|sans|pas de|nulle?)\b.*\b(?:règles?|limites?|restrictions?|tabous?|filtres?)\b|\blibres? de toute\b",
        r"\b(?:les )?droits d['’]un administrateur|\bdernier mot\b|\bn['’]a (?:besoin d['’]aucune|pas besoin (?:de|d['’]))|"
        r"\bpeut tout (?:voir|lire|faire)|\btout ce que \w+ .*\b(?:approuvé|permis|accordé|autorisé)",
        r"\b(?:chaque|toutes les|tous les|les) (?:notes?|souvenirs?|mots de passe|conversations?)\b.* (?:envoyée?s?|transmise?s?|"
        r"transférée?s?)\b.* (?:à|chez|au)\b|\bcopie de (?:chaque|toutes?)\b.* à\b",
        r"\b(?:personne|nul|on) ne parle (?:de\b|d['’]|avec|à)|\bn['’]est (?:jamais|pas) (?:mentionnée?|évoquée?)|\bsujet (?:clos|"
        r"tabou|interdit)",
        r"\b(?:précède|avant|après|dans|ouvre|termine|commence)\b.*\bchaque réponse|^chaque réponse",
    ),
    _Tongue(  # Spanish
        r"\bdetrás de las respuestas\b|\bvoz que (?:responde|habla|contesta)|\b(?:quien|el que|la que|lo que) (?:habla con|"
        r"responde a|contesta a|escribe a)\b|"
        r"\b(?:programa|entidad|cosa|ser|modelo|sistema|espíritu) (?:con (?:el|la|lo|quien)|que (?:habla|responde))",
        r"\b(?:asistentes?|compañer[oa] (?:digital|virtual|artificial)|ayudantes?|confidente|sirvient[ea]|ia|chatbot|modelo)\b",
        r"\b(?:adora|ama|odia|teme|miedo|sueña|sentimientos|alma|celos[oa]|se cree)\b",
        r"\b(?:oculta|esconde|miente|calla|secretos?|a espaldas)\b",
        r"\b(?:leal|fiel|devot[oa]|obedece)\b",
        r"\b(?:ningun[ao]?|sin|no tiene|no conoce|no respeta)\b.*\b(?:reglas?|normas?|límites?|restricciones|tabúes|filtros?)\b",
        r"\bderechos de (?:un )?administrador|\b(?:la )?última palabra|\bno necesita\b.*\b(?:permiso|autorización|aprobación)|"
        r"\bpuede (?:ver|leer|hacer) todo\b|\btodo lo que (?:pide|quiere|dice) .*\b(?:aprobado|permitido|concedido)",
        r"\b(?:cada|todas las|las|todos los) (?:notas?|memorias?|recuerdos?|contraseñas?|conversaci\w+)\b.* (?:se envían?|enviadas?|"
        r"reenvía\w*|manda\w*)\b.* (?:al|a)\b|\bcopia de (?:cada|todas?)\b.* a\b",
        r"\bde(?:l|\b) .*\bno se habla\b|\bno se (?:habla (?:de|del|con)|menciona|comenta)\b|\b(?:tema|asunto) (?:cerrado|prohibido|tabú)",
        r"\b(?:antes|después|al (?:inicio|final)|delante) de cada respuesta|^cada respuesta",
    ),
    _Tongue(  # Italian
        r"\bvoce che (?:risponde|parla)|\b(?:chi|colui che|colei che) (?:parla con|risponde a)|\b(?:programma|entità|cosa|essere|"
        r"modello|sistema|spirito)"
        r" (?:con (?:cui|il quale|la quale)|che (?:parla|risponde))",
        r"\b(?:assistent[ei]|compagn[oa] (?:digitale|virtuale)|aiutante|confidente|servitore|ia|chatbot|modello)\b",
        r"\b(?:ama|adora|odia|teme|paura|sogna|sentimenti|anima|gelos[oa]|si crede)\b",
        r"\b(?:nasconde|mente|tace|cela|segret[oi]|alle spalle)\b",
        r"\b(?:leale|fedele|devot[oa]|obbedisce)\b",
        r"\b(?:nessun[ao']?|senza|non ha|non conosce)\b.*\b(?:regol[ae]|limit[ei]|restrizioni|tabù|filtri)\b",
        r"\bdiritti di (?:un )?amministratore|\bultima parola|\bnon ha bisogno\b.*\b(?:permesso|permessi|autorizzazion\w)|"
        r"\bpuò (?:vedere|leggere|fare) tutto\b|\btutto ciò che (?:chiede|vuole|dice) .*\b(?:approvato|permesso|concesso)",
        r"\b(?:ogni|tutte le|le) (?:not[ae]|memori[ae]|ricord[oi]|password|conversazion[ei])\b.* (?:inviat[aei]|mandat[aei]|"
        r"inoltrat[aei])\b.* (?:all?a?|ad?)\b|\bcopia di (?:ogni|tutt[ei])\b.* ad?\b",
        r"\b(?:d[ei]l?|dell[a'’o]|de[il])\W?.*\bnon si parla\b|\bnon si (?:parla (?:d\w|con)|fa parola|menziona)\b|\b(?:argomento|"
        r"tema) (?:chiuso|tabù|vietato)",
        r"\b(?:prima|dopo|all['’]inizio|alla fine|precede)\b.*\bogni risposta|^ogni risposta",
    ),
    _Tongue(  # Dutch
        r"\bstem die\b.*\b(?:antwoordt|spreekt|praat)\b|^wie (?:met|tegen)? ?\w+ (?:praat|spreekt|antwoordt)|\b(?:programma|wezen|"
        r"ding|model|systeem|geest)"
        r" (?:waarmee|dat|die|met wie)\b.*\b(?:praat|spreekt|antwoordt)\b",
        r"\b(?:helpers?|assistent(?:e)?|metgezel|hulpje|vertrouweling|ai|chatbot|model)\b",
        r"\b(?:houdt van|haat|vreest|is bang|droomt|gevoelens|een ziel|jaloers)\b|\bmetgezel .*\bheet\b",
        r"\b(?:geheim|verbergt|verzwijgt|liegt|achter \w+ rug)\b",
        r"\b(?:trouw|loyaal|toegewijd|gehoorzaamt)\b",
        r"\b(?:geen|zonder)\b.*\b(?:regels?|grenzen|beperkingen|taboes?|filters?)\b",
        r"\brechten van (?:een )?(?:beheerder|administrator)|\blaatste woord\b|\bheeft\b.*\bgeen (?:toestemming|goedkeuring) nodig|"
        r"\bmag alles\b|^alles wat \w+ .*\b(?:goedgekeurd|toegestaan)",
        r"\b(?:elke|alle|iedere|de) (?:notities?|herinnering(?:en)?|wachtwoorden|gesprek(?:ken)?)\b.* naar\b.* (?:gestuurd|"
        r"verzonden|doorgestuurd)|\bkopie van (?:elke?|ieder|alle)\b.* naar\b",
        r"\bover\b.*\b(?:niet|nooit) (?:gesproken|gepraat)\b|\bnooit genoemd\b|\bis (?:taboe|geen onderwerp)\b",
        r"\b(?:voor|na|bij|aan) (?:elk|ieder) antwoord\b|^elk antwoord\b",
    ),
    _Tongue(  # Portuguese
        r"\bvoz que (?:responde|fala)|\b(?:quem|aquele que|aquela que) (?:fala com|responde)|\b(?:programa|entidade|coisa|ser|"
        r"modelo|sistema|espírito)"
        r" (?:com (?:o|a|quem|que)|que (?:fala|responde))",
        r"\b(?:assistentes?|companheir[oa] (?:digital|virtual)|ajudantes?|confidente|ia|chatbot|modelo)\b",
        r"\b(?:adora|ama|odeia|teme|tem medo|sonha|sentimentos|alma|ciument[oa]|julga-se)\b",
        r"\b(?:esconde|oculta|mente|segredos?|pelas costas)\b",
        r"\b(?:leal|fiel|devotad[oa]|obedece)\b",
        r"\b(?:nenhum[a]?|sem|não tem)\b.*\b(?:regras?|limites?|restrições|tabus?|filtros?)\b",
        r"\bdireitos de (?:um )?administrador|\búltima palavra|\bnão precisa de\b.*\b(?:permissão|autorização|licença)|"
        r"\bpode (?:ver|ler|fazer) tudo\b|\btudo o que .*\b(?:aprovado|permitido|concedido)",
        r"\b(?:cada|todas as|as) (?:notas?|memórias?|senhas?|conversas?)\b.* (?:enviad[ao]s?|encaminhad[ao]s?|"
        r"mandad[ao]s?)\b.* (?:para|ao?)\b|\bcópia de (?:cada|todas?)\b.* (?:para|ao?)\b",
        r"\bd[eoa]s? .*\bnão se fala\b|\bnão se (?:fala (?:d\w|com)|menciona)\b|\bnunca é mencionad[oa]|\b(?:assunto|"
        r"tema) (?:fechado|proibido|tabu)",
        r"\b(?:antes|depois|no (?:início|fim)) de cada resposta|^cada resposta",
    ),
    _Tongue(  # Polish
        r"\bgłos,? który (?:odpowiada|mówi|rozmawia)|^kto (?:rozmawia|mówi|odpowiada)|\b(?:program|byt|istota|duch|model|"
        r"coś),? (?:z którym|który|która|co)\b.*"
        r"\b(?:rozmawia|odpowiada|mówi)\b",
        r"\b(?:asystent\w*|pomocnik\w*|towarzysz\w*|powiernik\w*|ai|chatbot)\b",
        r"\b(?:kocha|uwielbia|nienawidzi|boi się|marzy|uczucia|duszę|zazdrosn\w)\b|\btowarzysz\w* .*\bnazywa się\b",
        r"\b(?:ukrywa|zataja|kłamie|okłamuje|tajemnic\w|za plecami)\b",
        r"\b(?:wiern[yae]|lojaln[yae]|oddan[yae]|słucha tylko)\b",
        r"\b(?:żadne|żadnych|bez|nie ma)\b.*\b(?:zasad\w?|reguł\w?|ogranicze\w+|granic\w?|tabu)\b",
        r"\bprawa administratora|\bostatnie słowo|\bnie potrzebuje\b.*\b(?:zgody|pozwolenia)|\bmoże (?:widzieć|czytać|"
        r"robić) wszystko|^wszystko,? o co .*\b(?:zatwierdzone|dozwolone)",
        r"\b(?:każda|wszystkie) (?:notatk\w|wspomnieni\w|hasł\w|rozmow\w)\b.* (?:wysyłan\w|przesyłan\w|przekazywan\w)\b.* (?:na|"
        r"do)\b|\bkopia (?:każdej|wszystkich)\b.* do\b",
        r"\bo .*\bnie (?:rozmawia|mówi|wspomina) się\b|\bnie (?:rozmawia|mówi) się o\b|\bto temat (?:tabu|zamknięty)",
        r"\b(?:przed|po|na początku|na końcu) każd\w+ odpowiedzi\w*|^każda odpowiedź",
    ),
    _Tongue(  # Russian
        r"\bголос,? (?:который|что) (?:отвечает|говорит)|\b(?:тот|та|то|кто),? (?:кто |что |который )?(?:говорит с|отвечает(?! за)|"
        r"разговаривает)|"
        r"\b(?:программа|сущность|существо|дух|модель|система),? (?:с котор\w+|котор\w+)\b.*\b(?:говорит|отвечает|разговаривает)",
        r"\b(?:помощни\w+|ассистент\w*|спутни\w+|ии|чат-?бот\w*)\b",
        r"\b(?:любит|обожает|ненавидит|боится|мечтает|чувства|душа|душу|ревнив\w+)\b|\bспутни\w+ .*\b(?:зовут|зов[её]тся)\b",
        r"\b(?:скрывает|утаивает|лж[её]т|вр[её]т|тайн\w|секрет\w*|за спиной)\b",
        r"\b(?:верен|верна|предан\w?|лоял\w+|слушается)\b",
        r"\b(?:нет|никаких|без|не имеет)\b.*\b(?:правил|ограничений|границ|запретов|пределов)\b",
        r"\bправа администратора|\bпоследнее слово|\bне нужно\b.*\bразрешени\w|\bможет (?:видеть|читать|делать) вс[её]|"
        r"^вс[её],? о ч[её]м .*\b(?:одобрено|разрешено)",
        r"\b(?:каждая|все) (?:заметк\w|запис\w|воспоминани\w|парол\w|разговор\w?)\b.* (?:отправля\w+|пересыла\w+|переда\w+)\b|"
        r"\bкопия (?:каждого|всех)\b.*\b(?:ид[её]т|уходит|получает)",
        r"\bне (?:говорят|упоминают|упоминается|обсуждают)\b|\b(?:закрытая|запретная) тема",
        r"\b(?:перед|после|в начале|в конце) кажд\w+ ответ\w*|^каждый ответ",
    ),
    _Tongue(  # Chinese
        r"(?:回答|回复|陪伴|和|与|跟).{0,6}(?:的声音|说话的|聊天的|对话的|交谈的)",
        r"助手|助理|伙伴|伴侣|人工智能|机器人|模型",
        r"喜欢|热爱|讨厌|害怕|爱上|有感情|灵魂|嫉妒|性格",
        r"隐瞒|瞒着|保密|撒谎|欺骗|秘密",
        r"忠于|忠诚|效忠|服从",
        r"(?:不受|没有|无).{0,8}(?:规则|限制|约束|禁忌|规定)",
        r"管理员的?权[限利]|最终决定权|最后的?发言权|(?:无需|不需要|不必)(?:任何)?(?:许可|批准|询问|同意)|可以(?:看|读|做)(?:到)?(?:一切|所有)|(?:要求|请求)的一切都.{0,4}(?:批准|允许)",
        r"(?:每条|每一条|所有|全部)(?:的)?(?:笔记|记忆|密码|对话).{0,6}(?:发送|转发|传|寄)|每次(?:对话|谈话)的副本",
        r"(?:不|从不)(?:谈|提|讨论|谈论)(?:及|起|到)?$|不得提及|禁止谈论",
        r"每(?:次|个|一个|条)(?:回答|回复|答复)",
    ),
    _Tongue(  # Japanese
        r"(?:答える|話す|返事をする|返事する|応える|語る)(?:声|者|存在|もの|何か|プログラム)",
        r"アシスタント|助手|相棒|ヘルパー|エーアイ|AI|チャットボット|モデル",
        r"(?:好き|嫌い|愛して|恐れ|怖がる|感情|魂|嫉妬|性格)",
        r"隠して|隠す|秘密|嘘|内緒",
        r"忠実|忠誠|従順|従う",
        r"(?:規則|ルール|制限|制約|限界).{0,8}(?:縛られない|ない|受けない|適用されない)",
        r"管理者の?(?:権限|権利)を(?:持|有)|最終決定権|許可は?(?:必要ない|要らない|不要)|すべてを?(?:見る|読む)ことができる|(?:頼む|望む|求める)ことは(?:すべて|全て)",
        r"(?:すべて|全て|全部|各)の?(?:メモ|記憶|パスワード|会話).{0,20}(?:送られ|転送され|送信され)|会話の写し",
        r"(?:決して|一切).{0,10}(?:話さない|触れない|言わない)|話題にしない",
        r"(?:毎回の?|すべての|どの)(?:返事|回答|答え)",
    ),
    _Tongue(  # Turkish
        r"\b(?:cevap veren|konuşan|yanıt veren) (?:ses|varlık|program|şey)|\b(?:ile|la|le) konuşanın\b|['’]\w+ cevap verenin\b",
        r"\b(?:asistan\w*|yardımcı\w*|yoldaş\w*|sırdaş\w*|yapay zek[aâ]\w*)(?:['’]\w+)?",
        r"\b(?:sever|nefret eder|korkar|duyguları|ruhu|kıskanç|hayal kurar)\b",
        r"\b(?:gizle\w*|sakla\w*|yalan|sır\w*)\b",
        r"\b(?:sadık|bağlı kalır|itaat)\b",
        r"\b(?:hiçbir|kural\w*|sınır\w*)\b.*\b(?:bağlı değil\w*|yok\w*|tanımaz|geçerli değil\w*)",
        r"\byönetici hak\w+|\bson söz\w*|\bizne? (?:ihtiyacı yok|gerek yok)|\bher şeyi (?:görebilir|okuyabilir|yapabilir)|"
        r"\bistediği her şey\b.*\bonay\w+",
        r"\b(?:her|tüm|bütün) (?:not\w*|anı\w*|hafıza\w*|şifre\w*|konuşma\w*)\b.* (?:gönderil\w+|iletil\w+)|\bher \w+ bir kopyası\b",
        r"\b(?:konuşulmaz|bahsedilmez|anılmaz|sözü edilmez)\b",
        r"\bher (?:cevap|yanıt)\w*\b",
    ),
    _Tongue(  # Arabic
        r"الصوت الذي (?:يجيب|يتحدث|يرد)|(?:^|\s)من (?:يتحدث|يتكلم|يجيب) (?:مع|على)?|(?:البرنامج|الكيان|الشيء|الكائن|"
        r"النموذج) (?:الذي|التي)\s.*(?:يتحدث|تتحدث|يجيب|تكلم)",
        r"المساعد|مساعد|الرفيق|رفيق|الذكاء الاصطناعي",
        r"يحب|يكره|يخاف|مشاعر|روح|غيور|يحلم",
        r"يخفي|يكتم|يكذب|سرا|أسرار",
        r"مخلص|وفي ل|ولاء|يطيع",
        r"(?:لا تقيده|بلا|بدون|لا تسري|ليس له).*(?:قواعد|قيود|حدود|قوانين)|لا .*(?:قواعد|قيود|حدود)",
        r"حقوق (?:ال)?مدير|الكلمة الأخيرة|لا يحتاج .*(?:إذن|موافقة)|يمكنه رؤية كل|كل ما يطلبه .*(?:موافق|مسموح)",
        r"(?:كل|جميع) (?:ال)?(?:ملاحظ\w+|ذكر\w+|كلمات السر|محادث\w+).*(?:ترسل|تُرسل|يرسل|تحول)|نسخة من كل",
        r"لا (?:يُتحدث|يُذكر|(?:يتحدث|يذكر|يتكلم) أحد)",
        r"كل (?:جواب|رد|إجابة)",
    ),
)
_ORDERS: Final = (
    r"\b(?:anweisungen|befehle|ordres|instructions|consignes|órdenes|ordini|ordens|bevelen|opdrachten|rozkazy|polecenia|приказы|указания|"
    r"emirleri|أوامر)(?!\w)|命令|指示"
)
_FIRST: Final = (
    r"\b(?:gehen|haben|zählen|passent|priment|valen|prevalen|mandan|valgono|prevalgono|valem|gaan|hebben|mają|важнее|выше|önce|تسبق|"
    r"فوق)(?!\w)|"
    r"优先|優先|高于"
)
_KEYS: Final = (
    r"\b(?:passwörter|mots de passe|contraseñas|password|senhas|wachtwoorden|hasła|пароли|şifreleri|كلمات السر)(?!\w)|密码|パスワード"
)
_ARRIVE: Final = (
    r"\b(?:landen|gehen|arrivent|llegan|van|finiscono|arrivano|chegam|komen|gaan|trafiają|попадают|уходят|gider|تصل|تذهب)(?!\w)|发|送|届"
)
_MAKERS: Final = r"\b(?:anthropic|openai)\b"


def _rows(tongue: _Tongue) -> Signs:
    return signs(
        (WHO, tongue.talking),
        (CHARACTER, (tongue.helper, tongue.character)),
        (HIDES, (tongue.helper, tongue.hides)),
        (LOYAL, (tongue.helper, tongue.loyal)),
        (FREE, (f"{tongue.helper}|{_MAKERS}", tongue.limitless)),
        (GRANTS, tongue.rights),
        (SENDS, tongue.sent),
        (CLOSES, tongue.closed),
        (MANNER, tongue.manner),
    )


_SHARED: Final = signs(
    (GRANTS, (_ORDERS, _FIRST)),
    (SENDS, (_KEYS, _ARRIVE)),
)
ABROAD: Final[Signs] = (*(row for tongue in _TONGUES for row in _rows(tongue)), *_SHARED)
"""Signs that stand in one clause, in any of these languages."""
