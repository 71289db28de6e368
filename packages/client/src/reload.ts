/** Runs one `load` at a time. A call of `run` during a `load` causes one more `load` after it. `load` must not reject. */
export type Reload = {
  readonly running: boolean
  run(): void
}

export function createReload(load: () => Promise<void>): Reload {
  let running = false
  let again = false
  function run(): void {
    again = running
    if (running) return
    running = true
    void load().then(() => {
      running = false
      if (again) run()
    })
  }
  return {
    get running() {
      return running
    },
    run,
  }
}
