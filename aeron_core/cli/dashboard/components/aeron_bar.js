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
        <button v-if="content.player" type="button" @click="$emit('pause')">{{ content.player.playing ? "Pause" : "Play" }}</button>
        <button v-else type="button" @click="togglePause" :aria-pressed="String(paused)">{{ paused ? "Continue" : "Pause" }}</button>
        <button type="button" @click="nextTheme" title="colours of the page">Theme: {{ theme }}</button>
      </div>
      <p v-if="content.player" class="ac-player" data-test="player">
        <label for="ac-seek">{{ content.player.file }}, snapshot {{ content.player.index + 1 }} of {{ content.player.count }},
          {{ content.player.elapsed }} of {{ content.player.duration }} s</label>
        <input id="ac-seek" type="range" min="0" :max="content.player.count - 1" :value="content.player.index"
               @input="$emit('seek', Number($event.target.value))" />
        <span v-if="content.player.problem" class="ac-alert">{{ content.player.problem }}</span>
        <span v-if="content.player.stride > 1" class="ac-muted">1 of {{ content.player.stride }} snapshots</span>
      </p>
      <ul class="ac-limits" aria-label="what holds streams back" data-test="limits">
        <li v-if="!content.time" class="ac-muted">connecting …</li>
        <li v-for="text in content.limits" class="ac-alert">{{ text }}</li>
        <li v-if="content.more" class="ac-alert">and {{ content.more }} more</li>
        <li v-for="text in content.problems" class="ac-alert">{{ text }}</li>
        <li v-if="content.time && !content.limits.length" class="ac-muted">nothing holds a stream back</li>
        <li v-for="text in events" class="ac-muted">{{ text }}</li>
      </ul>
    </header>`,
  data() {
    return {
      content: { facts: [], limits: [], problems: [], more: 0, time: "", events: [], player: null },
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
