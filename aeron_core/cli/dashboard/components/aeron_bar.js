// Title, time, what holds streams back, and controls of the page.
const THEMES = ["auto", "light", "dark"];

export default {
  template: `
    <header class="ac-bar">
      <a class="ac-skip" href="#streams">skip to the streams</a>
      <h1>aeron-core <span>dashboard</span></h1>
      <p class="ac-facts" data-test="facts">
        <span v-for="fact in content.facts">{{ fact }}</span>
        <time>{{ content.time }}</time>
      </p>
      <div class="ac-controls">
        <button type="button" @click="togglePause" :aria-pressed="String(paused)">{{ paused ? "Continue" : "Pause" }}</button>
        <button type="button" @click="nextTheme" title="colours of the page">Theme: {{ theme }}</button>
      </div>
      <ul class="ac-limits" role="status" data-test="limits">
        <li v-for="text in content.limits" class="ac-alert">{{ text }}</li>
        <li v-if="content.more" class="ac-alert">and {{ content.more }} more</li>
        <li v-for="text in content.problems" class="ac-alert">{{ text }}</li>
        <li v-if="content.time && !content.limits.length" class="ac-muted">nothing holds a stream back</li>
        <li v-for="text in events" class="ac-muted">{{ text }}</li>
      </ul>
    </header>`,
  data() {
    return {
      content: { facts: [], limits: [], problems: [], more: 0, time: "", events: [] },
      events: [],
      paused: false,
      theme: localStorage.getItem("aeron-theme") || "auto",
    };
  },
  mounted() {
    this.applyTheme();
  },
  methods: {
    show(content) {
      this.content = content;
      this.events = [...content.events, ...this.events].slice(0, 3);
    },
    togglePause() {
      this.paused = !this.paused;
      this.$emit("pause", this.paused);
    },
    nextTheme() {
      this.theme = THEMES[(THEMES.indexOf(this.theme) + 1) % THEMES.length];
      localStorage.setItem("aeron-theme", this.theme);
      this.applyTheme();
    },
    applyTheme() {
      document.documentElement.style.colorScheme = this.theme === "auto" ? "light dark" : this.theme;
    },
  },
};
