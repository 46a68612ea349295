"""A table as Python holds it: every statement that is sent to an engine is applied here too, and what an engine reads is compared
with it. Rows are found by `id`; columns by a key that a rename does not change."""
from cells import cell
from values import literal, random_value, sql_type


class Table:
    def __init__(self, name, rng, columns):
        self.name, self.rng = name, rng
        self.columns = [("id", "id", ("long",))] + [(n, n, t) for n, t in columns]
        self.rows, self.next_id = {}, 1

    def create(self, partition="", properties=None):
        fields = ", ".join(f"{n} {sql_type(t)}" for _, n, t in self.columns)
        more = " TBLPROPERTIES (" + ", ".join(f"'{k}'='{v}'" for k, v in properties.items()) + ")" if properties else ""
        return f"CREATE TABLE {self.name} ({fields}) USING iceberg" + (f" PARTITIONED BY ({partition})" if partition else "") + more

    def new_row(self, row_id):
        return {key: row_id if key == "id" else random_value(self.rng, t) for key, _, t in self.columns}

    def tuple_of(self, row, *more):
        return "(" + ", ".join([literal(row.get(key), t) for key, _, t in self.columns] + list(more)) + ")"

    def new_ids(self, n):
        self.next_id += n
        return range(self.next_id - n, self.next_id)

    def insert_rows(self, n):
        added = [self.new_row(i) for i in self.new_ids(n)]
        self.rows.update((row["id"], row) for row in added)
        return added

    def insert(self, n):
        added = self.insert_rows(n)
        return f"INSERT INTO {self.name} VALUES " + ", ".join(self.tuple_of(row) for row in added)

    def some_ids(self, share):
        return sorted(self.rng.sample(sorted(self.rows), max(1, int(len(self.rows) * share)))) if self.rows else [0]

    def delete(self, share=0.15):
        ids = self.some_ids(share)
        for i in ids:
            self.rows.pop(i, None)
        return f"DELETE FROM {self.name} WHERE id IN ({', '.join(map(str, ids))})"

    def update(self, share=0.2):
        ids = self.some_ids(share)
        changed = self.rng.sample(self.columns[1:], min(2, len(self.columns) - 1))
        values = [(key, n, t, random_value(self.rng, t)) for key, n, t in changed]
        for i in ids:
            if i in self.rows:
                self.rows[i] = dict(self.rows[i], **{key: v for key, _, _, v in values})
        sets = ", ".join(f"{n} = {literal(v, t)}" for _, n, t, v in values)
        return f"UPDATE {self.name} SET {sets} WHERE id IN ({', '.join(map(str, ids))})"

    def merge(self, share=0.25, new=6):
        """Updates, deletes and inserts; two of the rows that are to be deleted are not there."""
        old = self.some_ids(share)
        sent = [(self.new_row(i), "d" if self.rng.random() < 0.3 else "u") for i in old if i]
        sent += [(self.new_row(i), "c") for i in self.new_ids(new)] + [(self.new_row(10**9), "d"), (self.new_row(10**9 + 1), "d")]
        names = [n for _, n, _ in self.columns]
        kept = self.rng.choice(self.columns[1:])[1]  # not assigned by the update: keeps its value
        kept_key = next(key for key, n, _ in self.columns if n == kept)
        for row, op in sent:
            if op == "d":
                self.rows.pop(row["id"], None)
            elif row["id"] in self.rows:
                self.rows[row["id"]] = dict(row, **{kept_key: self.rows[row["id"]].get(kept_key)})
            else:
                self.rows[row["id"]] = row
        values = ", ".join(self.tuple_of(row, f"'{op}'") for row, op in sent)
        return (f"MERGE INTO {self.name} t USING (SELECT * FROM VALUES {values} AS v({', '.join(names)}, op)) s ON t.id = s.id "
                f"WHEN MATCHED AND s.op = 'd' THEN DELETE "
                f"WHEN MATCHED THEN UPDATE SET {', '.join(f't.{n} = s.{n}' for n in names if n not in ('id', kept))} "
                f"WHEN NOT MATCHED AND s.op <> 'd' THEN INSERT ({', '.join(names)}) VALUES ({', '.join('s.' + n for n in names)})")

    # ------------------------------------------------------------ schema

    def at(self, name):
        return next(i for i, column in enumerate(self.columns) if column[1] == name)

    def add_column(self, name, t):
        self.columns.append((name + "'", name, t))
        return f"ALTER TABLE {self.name} ADD COLUMN {name} {sql_type(t)}"

    def add_field(self, column, field, t):
        i = self.at(column)
        key, name, kind = self.columns[i]
        self.columns[i] = (key, name, ("struct", kind[1] + ((field, t),)))
        return f"ALTER TABLE {self.name} ADD COLUMN {column}.{field} {sql_type(t)}"

    def drop_column(self, name):
        del self.columns[self.at(name)]
        return f"ALTER TABLE {self.name} DROP COLUMN {name}"

    def rename(self, old, new):
        i = self.at(old)
        self.columns[i] = (self.columns[i][0], new, self.columns[i][2])
        return f"ALTER TABLE {self.name} RENAME COLUMN {old} TO {new}"

    def widen(self, name, t):
        i = self.at(name)
        self.columns[i] = (*self.columns[i][:2], t)
        return f"ALTER TABLE {self.name} ALTER COLUMN {name} TYPE {sql_type(t)}"

    def widen_element(self, name, t):
        i = self.at(name)
        self.columns[i] = (*self.columns[i][:2], ("list", t))
        return f"ALTER TABLE {self.name} ALTER COLUMN {name}.element TYPE {sql_type(t)}"

    def expected(self):
        """Column names and rows as text, as cells.py says."""
        return [n for _, n, _ in self.columns], [[cell(row.get(key), t) for key, _, t in self.columns] for row in self.rows.values()]
