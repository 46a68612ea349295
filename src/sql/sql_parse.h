// Inside of the SQL parser: tokens and the helpers that the grammar files share. Failure is sticky: the first error is kept,
// the position jumps to the end of the text, and every function still returns something that may be linked into the tree
// (which nobody will read). So grammar code needs no checks after each step, only before it reads back what it parsed.
#ifndef FZ_SQL_PARSE_H
#define FZ_SQL_PARSE_H

#include "base/text.h"
#include "sql/ast.h"

enum sql_token_kind { SQL_END, SQL_WORD, SQL_QUOTED, SQL_STRING, SQL_NUMBER, SQL_OP };
struct sql_token {
    enum sql_token_kind kind;
    struct fz_str raw; // as written, borrowed from the text
    struct fz_str value; // strings and quoted names decoded; otherwise = raw
    size_t offset;
    int line, column;
};

enum {
    SQL_MAX_TOKENS = 20000000,
    SQL_MAX_DEPTH = 200, // nesting of expressions, queries and types
    SQL_MAX_CHAIN = 2000, // operands of one left-deep chain
    SQL_MAX_GROUPS = 4096, // grouping sets after writing out CUBE and ROLLUP
};

struct sql_parser {
    struct fz_arena *arena;
    struct fz_err *err;
    struct fz_str sql;
    struct sql_token *tokens;
    size_t n_tokens, at;
    int depth;
    bool failed, lenient_types; // lenient_types: an unknown type name is a syntax error
    _Alignas(16) char dummy[1024]; // stands in for nodes once memory is out
};

// sql_lexer.c
enum fz_code fz_sql_lex(struct fz_arena *arena, struct fz_str sql, struct sql_token **out, size_t *n,
                        struct fz_err *err);
// Raises SQL_SYNTAX (or `code`) at a place of the text, with a caret block.
enum fz_code fz_sql_fail_at(struct fz_err *err, enum fz_code code, const char *condition, struct fz_str sql,
                            size_t offset, size_t len, int line, int column, const char *message);

// sql_parse.c
void *fz_sql_node(struct sql_parser *p, size_t size); // zeroed; never NULL
void *fz_sql_push(struct sql_parser *p, void *items, size_t *n, size_t *cap, size_t size);
#define SQL_NODE(p, type) ((type *)fz_sql_node((p), sizeof(type)))
#define SQL_PUSH(p, items, n, cap) fz_sql_push((p), (void *)&(items), &(n), &(cap), sizeof *(items))
const struct sql_token *fz_sql_peek(const struct sql_parser *p, size_t ahead);
bool fz_sql_is(const struct sql_parser *p, size_t ahead, const char *word_or_op); // keywords any case, unquoted
bool fz_sql_accept(struct sql_parser *p, const char *word_or_op);
bool fz_sql_accept2(struct sql_parser *p, const char *a, const char *b);
void fz_sql_expect(struct sql_parser *p, const char *word_or_op);
bool fz_sql_is_ident(const struct sql_parser *p, size_t ahead);
const char *fz_sql_ident(struct sql_parser *p);
struct fz_ast_name fz_sql_name(struct sql_parser *p); // a.b.c
struct fz_ast_name fz_sql_object_name(struct sql_parser *p); // also IDENTIFIER('a.b')
const char **fz_sql_ident_list(struct sql_parser *p, size_t *n); // a, b, c
const char *fz_sql_string(struct sql_parser *p); // NUL-free text
struct fz_str fz_sql_string_bytes(struct sql_parser *p); // adjacent strings joined
int64_t fz_sql_integer(struct sql_parser *p);
const char *fz_sql_dup(struct sql_parser *p, struct fz_str text);
const char *fz_sql_dotted(struct sql_parser *p, const struct fz_ast_name *name);
struct fz_pos fz_sql_pos(const struct sql_parser *p);
void fz_sql_end_pos(const struct sql_parser *p, struct fz_pos *pos);
struct fz_str fz_sql_text_from(const struct sql_parser *p, size_t first_token); // up to the last token read
void fz_sql_fail(struct sql_parser *p, enum fz_code code, const char *condition, const char *fmt, ...)
    FZ_PRINTF(4, 5); // at the current token
void fz_sql_syntax(struct sql_parser *p,
                   const char *expected); // PARSE_SYNTAX_ERROR at the current token; expected may be NULL
void fz_sql_unsupported(struct sql_parser *p, const char *feature);
bool fz_sql_enter(struct sql_parser *p); // depth cap; pair with p->depth--
bool fz_sql_parse_name_text(struct fz_arena *arena, struct fz_str text, struct fz_ast_name *out, struct fz_err *err);

// sql_parse_literal.c
const struct fz_value *fz_sql_number(struct sql_parser *p, bool negative); // reads the NUMBER token
struct fz_ast_expr *fz_sql_typed_literal(struct sql_parser *p); // DATE '…' and so on; the parser stands on the word
struct fz_ast_expr *fz_sql_interval(struct sql_parser *p); // stands on INTERVAL
bool fz_sql_is_interval_unit(const struct sql_token *token);
struct fz_ast_expr *fz_sql_literal_node(struct sql_parser *p, struct fz_pos pos, const struct fz_value *value);
struct fz_ast_expr *fz_sql_string_node(struct sql_parser *p, struct fz_pos pos, struct fz_str text);

// sql_parse_type.c
const struct fz_type *fz_sql_parse_type_at(struct sql_parser *p);
const struct fz_type *fz_sql_fields(struct sql_parser *p, const char *closer); // a INT, b: STRING … as a struct

// sql_parse_expr.c, sql_parse_call.c
struct fz_ast_expr *fz_sql_expr(struct sql_parser *p);
struct fz_ast_expr *fz_sql_value_expr(struct sql_parser *p); // without AND, OR, NOT and predicates
struct fz_ast_expr *fz_sql_assigned(struct sql_parser *p); // expression or DEFAULT
struct fz_ast_expr *fz_sql_expr_new(struct sql_parser *p, enum fz_ast_expr_kind kind, struct fz_pos pos);
void fz_sql_add_arg(struct sql_parser *p, struct fz_ast_expr *e, size_t *cap, struct fz_ast_expr *arg);
struct fz_ast_expr *fz_sql_call(struct sql_parser *p, struct fz_ast_name name, struct fz_pos pos); // stands on (
struct fz_ast_expr *fz_sql_special_call(struct sql_parser *p); // NULL when the word here starts no special form
struct fz_ast_window *fz_sql_window(struct sql_parser *p); // after OVER
struct fz_ast_order *fz_sql_order_list(struct sql_parser *p, size_t *n);
struct fz_ast_expr **fz_sql_expr_list(struct sql_parser *p, size_t *n);
void fz_sql_args(struct sql_parser *p, struct fz_ast_expr *call, bool aliases); // after "(" up to and with ")"
struct fz_ast_select_item fz_sql_select_item(struct sql_parser *p);
bool fz_sql_is_alias(const struct sql_parser *p); // may the word here be an alias without AS?

// sql_parse_query.c, sql_parse_rel.c
bool fz_sql_starts_query(const struct sql_parser *p, size_t ahead);
struct fz_ast_query *fz_sql_query(struct sql_parser *p);
struct fz_ast_cte *fz_sql_ctes(struct sql_parser *p, size_t *n, bool *recursive); // after WITH
struct fz_ast_rel *fz_sql_rel(struct sql_parser *p);
struct fz_ast_rel *fz_sql_join(struct sql_parser *p, struct fz_ast_rel *left, bool *any); // one join when there is one
struct fz_ast_rel *fz_sql_values(struct sql_parser *p); // after VALUES
void fz_sql_alias(struct sql_parser *p, struct fz_ast_rel *rel);
struct fz_ast_rel **fz_sql_from(struct sql_parser *p, size_t *n); // after FROM
struct fz_ast_query *fz_sql_query_body(struct sql_parser *p, struct fz_ast_rel **from,
                                       size_t n_from); // SELECT … over a FROM read before

// sql_parse_stmt.c, sql_parse_merge.c, sql_parse_ddl.c, sql_parse_alter.c, sql_parse_session.c
struct fz_ast_stmt *fz_sql_stmt(struct sql_parser *p);
bool fz_sql_dml(struct sql_parser *p, struct fz_ast_stmt *s); // false: the word here starts none of them
void fz_sql_insert_head(struct sql_parser *p, struct fz_ast_stmt *s); // INSERT … up to the query
void fz_sql_merge(struct sql_parser *p, struct fz_ast_stmt *s);
bool fz_sql_ddl(struct sql_parser *p, struct fz_ast_stmt *s);
void fz_sql_alter_table(struct sql_parser *p, struct fz_ast_stmt *s);
bool fz_sql_session(struct sql_parser *p, struct fz_ast_stmt *s);
struct fz_property *fz_sql_properties(struct sql_parser *p, size_t *n); // ( k = v, … )
struct fz_ast_assignment *fz_sql_assignments(struct sql_parser *p, size_t *n);
void fz_sql_column_def(struct sql_parser *p, struct fz_ast_column_def *c, bool nested);
void fz_sql_transform(struct sql_parser *p, struct fz_ast_transform *t);
void fz_sql_partition_spec(struct sql_parser *p, struct fz_ast_stmt *s); // after PARTITION

#endif
