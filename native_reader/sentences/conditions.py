"""What is wrong with a condition, a pattern or an SQL query."""

from __future__ import annotations

CONDITIONS = {
    "pattern bracket": (
        "invalid regular expression: missing {bracket}",
        "正则表达式不正确：缺少 {bracket}",
    ),
    "pattern group": (
        "{text} is not supported. Supported: groups ( ) and (?: ), and (?i) and (?s) at the start",
        "不支持 {text}。支持的写法：( ) 和 (?: )，以及开头的 (?i) 和 (?s)",
    ),
    "pattern linear": (
        "{text} needs backtracking, which can take hours on a single text",
        "{text} 需要回溯，在一条文本上可能耗时数小时",
    ),
    "pattern expanded": (
        "the pattern has more than {most:,} characters after its repetitions are expanded",
        "展开重复之后，模式超过 {most:,} 个字符",
    ),
    "pattern repeat": (
        "{text} must follow a character, a set or a group without $",
        "{text} 前面应为字符、字符集，或不含 $ 的分组",
    ),
    "pattern end": (
        "$ is supported only at the end of the pattern or of an alternative",
        "$ 只能用在模式的末尾，或一个分支的末尾",
    ),
    "pattern unbalanced": (
        "{text} is unbalanced; write \\{character} for the character",
        "{text} 不成对；表示字符时，请写成 \\{character}",
    ),
    "pattern escape": (
        "{text} is not supported. Supported: \\d \\w \\s \\t \\n and escaped punctuation",
        "不支持 {text}。支持的写法：\\d \\w \\s \\t \\n，以及转义的标点",
    ),
    "pattern set": (
        "{text}: nested brackets and && are not supported",
        "{text}：不支持嵌套的方括号和 &&",
    ),
    "pattern begin": (
        "{text}: {piece} cannot begin a range; write \\- for the character",
        "{text}：{piece} 不能作为范围的开头；表示字符时，请写成 \\-",
    ),
    "pattern stop": (
        "{text}: {piece} cannot end a range; write \\- for the character",
        "{text}：{piece} 不能作为范围的结尾；表示字符时，请写成 \\-",
    ),
    "pattern reversed": (
        "{text}: the range {first}-{last} is reversed",
        "{text}：范围 {first}-{last} 颠倒",
    ),
    "pattern surrogates": (
        "{text}: a range from below U+D800 to U+FFFF or less is not supported",
        "{text}：不支持从 U+D800 以下到 U+FFFF 以内的范围",
    ),
    "pattern long": (
        "the pattern has {length:,} characters; the limit is {most:,}",
        "模式有 {length:,} 个字符，上限为 {most:,}",
    ),
    "pattern surrogate": (
        "the pattern contains an unpaired surrogate, which matches no text",
        "模式中有不成对的代理字符，不会匹配任何文本",
    ),
    "pattern invalid": (
        "invalid regular expression: {reason}",
        "正则表达式不正确：{reason}",
    ),
    "where long": (
        "where has {length:,} characters; the limit is {most:,}",
        "where 有 {length:,} 个字符，上限为 {most:,}",
    ),
    "where nested": (
        "where: brackets are nested more than {deepest} deep",
        "where：括号嵌套超过 {deepest} 层",
    ),
    "where no condition": (
        "where={text} is not a condition. Example: topic = 'orders' AND queue_id IN (0, 1)",
        "where={text} 不是条件。例如：topic = 'orders' AND queue_id IN (0, 1)",
    ),
    "where many ors": (
        "where is nested too deeply. Use IN ('a', 'b') instead of many ORs",
        "where 嵌套过深。请用 IN ('a', 'b') 代替多个 OR",
    ),
    "where semicolon": (
        "where: unexpected semicolon (character {place}). Write one condition. {supported}",
        "where：不应有分号（第 {place} 个字符）。请只写一个条件。{supported}",
    ),
    "where no null": (
        "where: {text} is not supported (character {place}). Write IS NULL or IS NOT NULL",
        "where：不支持 {text}（第 {place} 个字符）。请写成 IS NULL 或 IS NOT NULL",
    ),
    "where comma": (
        "where: missing value after the comma (character {place})",
        "where：逗号之后缺少值（第 {place} 个字符）",
    ),
    "no time zone": (
        "{option}={name} is not a time zone.{near} Examples: UTC, Europe/Berlin, +08:00 (at most 18:00)",
        "{option}={name} 不是时区。{near}例如：UTC、Asia/Shanghai、+08:00（最大 18:00）",
    ),
    "where near": (
        "where: {problem}, near {near} (character {place})",
        "where：{problem}，位置在 {near} 附近（第 {place} 个字符）",
    ),
    "where near more": (
        "where: {problem}, near {near} (character {place}). {more}",
        "where：{problem}，位置在 {near} 附近（第 {place} 个字符）。{more}",
    ),
    "where supported": (
        (
            "Supported: = != < <= > >= IN BETWEEN LIKE RLIKE IS NULL contains array_contains arrays_overlap AND OR NOT on "
            "columns and properties['name']. Use df.filter for other conditions"
        ),
        (
            "支持 =、!=、<、<=、>、>=、IN、BETWEEN、LIKE、RLIKE、IS NULL、contains、array_contains、arrays_overlap、AND、OR、NOT，"
            "用于列和 properties['name']。其他条件请用 df.filter"
        ),
    ),
    "where no sql": (
        "where: invalid SQL, near {near} (character {place}). {supported}",
        "where：SQL 不正确，位置在 {near} 附近（第 {place} 个字符）。{supported}",
    ),
    "where with attribute": (
        "{what} is not supported here ({name})",
        "这里不支持{what}（{name}）",
    ),
    "where not here": (
        "{what} is not supported here",
        "这里不支持{what}",
    ),
    "where function": (
        "a function",
        "函数",
    ),
    "where value alone": (
        "a value without a comparison",
        "没有比较的值",
    ),
    "where this": (
        "this",
        "这种写法",
    ),
    "where no order": (
        "{column} is {type}, which has no order. Use = or !=",
        "{column} 的类型为{type}，没有大小之分。请用 = 或 !=",
    ),
    "where escape": (
        "ESCAPE must be a single character",
        "ESCAPE 应为单个字符",
    ),
    "where escaped": (
        "LIKE: the escape character {mark} is before {character}; it must be before %, _ or itself",
        "LIKE：转义字符 {mark} 在 {character} 之前，而只能在 %、_ 或自身之前",
    ),
    "where escape ends": (
        "LIKE: the escape character {mark} ends the pattern; it must be before %, _ or itself",
        "LIKE：转义字符 {mark} 在模式末尾，而只能在 %、_ 或自身之前",
    ),
    "where like": (
        "LIKE: {why}",
        "LIKE 不正确：{why}",
    ),
    "where rlike": (
        "RLIKE: {why}",
        "RLIKE 不正确：{why}",
    ),
    "where other regex": (
        "Use df.filter for other Java regular expressions",
        "其他 Java 正则表达式请用 df.filter",
    ),
    "where not type": (
        "{column} is {type}, not {wanted}",
        "{column} 的类型为{type}，不是{wanted}",
    ),
    "where contains": (
        "contains: {column} is {type}, and {other} is searched in it. Both must be text, or both bytes",
        "contains：{column} 的类型为{type}，而要查找的是{other}。两者应同为文本，或同为字节",
    ),
    "where a column": (
        "expected a column",
        "这里应为列",
    ),
    "where prefix": (
        "a column cannot have a prefix. Write a property as properties['{name}']",
        "列不能有前缀。消息属性请写成 properties['{name}']",
    ),
    "where not comparable": (
        "{column} is {type}, which cannot be compared. Use {hint}",
        "{column} 的类型为{type}，不能比较。请用 {hint}",
    ),
    "where other type": (
        "{column} is {type}, but is compared with {other}. Types are not converted: write {example}",
        "{column} 的类型为{type}，却与{other}比较。类型不会转换：请写成 {example}",
    ),
    "where text": (
        "expected text, as in 'x', not {type}",
        "这里应为文本，例如 'x'，不是{type}",
    ),
    "where bits": (
        "{number} does not fit in {bits} bits",
        "{number} 超出 {bits} 位整数的范围",
    ),
    "where null": (
        "a comparison with NULL is never true. Write IS NULL",
        "与 NULL 比较永远不成立。请写成 IS NULL",
    ),
    "where two texts": (
        "missing operator between two texts. Write a quote inside a text as \\'",
        "两个文本之间缺少运算符。文本中的引号请写成 \\'",
    ),
    "where no column": (
        "expected a value, not the column {column}",
        "这里应为值，不是列 {column}",
    ),
    "where a value": (
        "expected a value",
        "这里应为值",
    ),
    "where no integer": (
        "{text} is not an integer",
        "{text} 不是整数",
    ),
    "where no moment": (
        "{text} is not a timestamp. Example: {example}",
        "{text} 不是时间。例如：{example}",
    ),
    "where zones": (
        "TIMESTAMP '{time}Z' (UTC) or '{time}+08:00'",
        "TIMESTAMP '{time}Z'（UTC）或 '{time}+08:00'",
    ),
    "no kind": (
        "where: kind {name} does not exist.{near} All kinds: {known}",
        "where：没有 kind {name}。{near}全部 kind：{known}",
    ),
    "type text": (
        "text",
        "文本",
    ),
    "type number": (
        "an integer",
        "整数",
    ),
    "type moment": (
        "a timestamp",
        "时间",
    ),
    "type bytes": (
        "bytes",
        "字节",
    ),
    "type texts": (
        "an array of texts",
        "文本数组",
    ),
    "type pairs": (
        "a map",
        "映射（map）",
    ),
    "type flag": (
        "true or false",
        "布尔值",
    ),
    "type decimal": (
        "a number",
        "数值",
    ),
    "type other": (
        "of a type without conditions",
        "不能用于条件的类型",
    ),
    "sql no query": (
        "sql={text} is no query. Example: SELECT topic, count(*) FROM messages GROUP BY topic",
        "sql={text} 不是查询。例如：SELECT topic, count(*) FROM messages GROUP BY topic",
    ),
    "sql only": (
        "sql: only a query is possible: SELECT, FROM, WITH, VALUES, DESCRIBE, SHOW or SUMMARIZE. Nothing is written",
        "sql：只能查询：SELECT、FROM、WITH、VALUES、DESCRIBE、SHOW 或 SUMMARIZE。不能写入",
    ),
    "sql several": (
        "sql: write one query, not several",
        "sql：请只写一个查询",
    ),
    "sql hidden": (
        "sql: {name} Error; its words may have values of rows, and are not shown{next}",
        "sql：{name} Error。错误信息中可能有行的值，因此不显示{next}",
    ),
    "sql try cast": (
        ". TRY_CAST gives NULL for a value that cannot be converted",
        "。TRY_CAST 对不能转换的值返回 NULL",
    ),
    "sql try each": (
        ". TRY(expression) gives NULL where an expression fails",
        "。TRY(expression) 在表达式出错时返回 NULL",
    ),
    "sql no table": (
        "sql: the table {name} does not exist.{near} All tables: {known}",
        "sql：没有表 {name}。{near}全部表：{known}",
    ),
    "sql no column": (
        "sql: the column {name} does not exist.{near} DESCRIBE a table to see its columns",
        "sql：没有列 {name}。{near}查看表的列请用 DESCRIBE",
    ),
    "sql wrong": (
        "sql: {why}",
        "sql 不正确：{why}",
    ),
    "sql no duckdb": (
        "an SQL query needs the package duckdb, 1.4 or newer: pip install 'rmqstore-spark[sql]'. "
        "The program file and the container image do not have it ({error})",
        "SQL 查询需要 duckdb 1.4 及以上：pip install 'rmqstore-spark[sql]'。程序文件和容器镜像中没有它（{error}）",
    ),
    "sql no zone": (
        "{option}={name} is no zone that DuckDB has. Name one of a place, as Asia/Kolkata, or whole hours",
        "DuckDB 没有时区 {option}={name}。请写地名，例如 Asia/Kolkata，或整小时",
    ),
}
