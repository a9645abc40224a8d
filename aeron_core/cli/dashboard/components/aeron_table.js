// A table that can be sorted by each column and filtered by terms; rows with a scope can be selected.
// All texts are inserted by {{ }}, which escapes them.
const LINE_WIDTH = 60;
const LINE_HEIGHT = 16;

export default {
  template: `
    <section class="ac-panel" :aria-labelledby="id + '-title'" :data-test="name">
      <div class="ac-head" :id="name">
        <h2 :id="id + '-title'">{{ content.title }} <small>{{ count }}</small></h2>
        <input v-if="content.total > 1" type="search" v-model="terms" placeholder="Filter"
               :aria-label="'filter ' + content.title" />
      </div>
      <p v-if="!content.total" class="ac-muted">{{ content.empty }}</p>
      <div v-else class="ac-scroll" tabindex="0" role="region" :aria-labelledby="id + '-title'">
        <table>
          <thead>
            <tr>
              <th v-for="(column, index) in content.columns" scope="col" :class="{ 'ac-number': column.number }"
                  :aria-sort="index !== by ? 'none' : down ? 'descending' : 'ascending'">
                <button type="button" :title="column.help || null" @click="sortBy(index)">{{ column.name }}<i
                  aria-hidden="true">{{ index !== by ? "" : down ? " ▾" : " ▴" }}</i></button>
              </th>
            </tr>
          </thead>
          <tbody>
            <tr v-for="row in rows" :key="row.key" :class="{ 'ac-selected': row.scope && row.scope === content.selected }">
              <td v-for="(cell, index) in row.cells" :class="{ 'ac-number': content.columns[index].number, 'ac-alert': cell[2] }">
                <button v-if="index === 0 && row.scope" type="button" class="ac-link" @click="select(row.scope)"
                        :aria-pressed="String(row.scope === content.selected)" title="plot this">{{ cell[0] }}</button>
                <template v-else-if="index === 2 && row.line.length"><svg class="ac-line" aria-hidden="true"
                  viewBox="0 0 60 16"><path :d="path(row.line)" /></svg>{{ cell[0] }}</template>
                <template v-else>{{ cell[0] }}</template>
              </td>
            </tr>
          </tbody>
        </table>
      </div>
    </section>`,
  props: { name: String },
  data() {
    return {
      id: "ac" + Math.random().toString(36).slice(2),
      content: { title: "", columns: [], rows: [], total: 0, empty: "", selected: "" },
      terms: "",
      by: -1,
      down: false,
    };
  },
  computed: {
    rows() {
      const terms = this.terms.toLowerCase().split(/\s+/).filter(Boolean);
      const found = this.content.rows.filter((row) => {
        const text = (row.cells.map((cell) => cell[0]).join(" ") + " " + row.text).toLowerCase();
        return terms.every((term) => text.includes(term));
      });
      // As they come, until a column is chosen.
      if (this.by < 0) return found;
      const sign = this.down ? -1 : 1;
      return found.sort((a, b) => {
        const [x, y] = [a.cells[this.by][1], b.cells[this.by][1]];
        if (x === null || y === null) return (x === null) - (y === null);
        return x === y ? 0 : (x < y ? -1 : 1) * sign;
      });
    },
    count() {
      const { total, rows } = this.content;
      if (!total) return "";
      const shown = this.rows.length;
      return shown === total ? String(total) : `${shown} of ${total}`;
    },
  },
  methods: {
    show(content) {
      this.content = content;
    },
    sortBy(index) {
      this.down = index === this.by ? !this.down : this.content.columns[index].number && index !== 0;
      this.by = index;
    },
    select(scope) {
      this.$emit("scope", scope === this.content.selected ? "" : scope);
    },
    path(values) {
      const most = Math.max(...values, 1e-9);
      let text = "";
      values.forEach((value, index) => {
        if (value === null) return;
        const x = (index / Math.max(values.length - 1, 1)) * LINE_WIDTH;
        const y = LINE_HEIGHT - 1 - (value / most) * (LINE_HEIGHT - 2);
        text += (text && values[index - 1] !== null ? "L" : "M") + x.toFixed(1) + " " + y.toFixed(1);
      });
      return text;
    },
  },
};
