const forAnyFolder = [
  'Explain how this project is built and tested.',
  'Find the slowest test and make it faster.',
  'Review my uncommitted changes.',
]

/** The prompts that the demo agent understands. */
const forDemo = ['show a permission', 'ask me something', 'make a plan', 'help']

/** Example prompts. */
export function examplesFor(agent: string | undefined): readonly string[] {
  return agent === 'demo' ? forDemo : forAnyFolder
}
