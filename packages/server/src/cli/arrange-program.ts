import type { Command } from 'commander'
import type { Context } from './context.ts'
import { list } from './list-option.ts'
import type { Add, Finish } from './program.ts'

const session = ['<session>', 'its id, the start of it, or "last"'] as const

/** Commands that change sessions: rename, archive, unarchive, fork. */
export function addArranging(add: Add, context: Context, finish: Finish): void {
  const load = () => import('./commands/arrange.ts')
  const json = ['--json', 'print the session as JSON'] as const
  add('rename', 'change the title of a session', 'parley rename last "Fix the door"')
    .argument(...session)
    .argument('<title>', 'the new title')
    .option(...json)
    .action((id, title, options) =>
      finish(load().then(({ patchSession }) => patchSession(id, { title }, options, context))),
    )
  add('archive', 'hide a session from the lists; it is kept', 'parley archive last')
    .argument(...session)
    .option(...json)
    .action((id, options) =>
      finish(load().then(({ patchSession }) => patchSession(id, { archived: true }, options, context))),
    )
  add('unarchive', 'show an archived session in the lists again', 'parley unarchive ses_01k2')
    .argument(...session)
    .option(...json)
    .action((id, options) =>
      finish(load().then(({ patchSession }) => patchSession(id, { archived: false }, options, context))),
    )
  add(
    'fork',
    'create a session that continues from the current state of another',
    'parley fork last --title "Other way"',
  )
    .argument(...session)
    .option('--title <title>', 'the title of the fork')
    .option(...json)
    .action((id, options) => finish(load().then(({ fork }) => fork(id, options, context))))
}

/** Standing permission rules. */
export function addRules(
  addToProgram: Add,
  adder: (parent: Command) => Add,
  context: Context,
  finish: Finish,
): void {
  const load = () => import('./commands/rules.ts')
  const rules = addToProgram(
    'rules',
    'list, add and remove standing permission rules',
    'parley rules',
    'parley rules add deny Bash --match "command=rm *"',
    'parley rules remove rul_01k2',
  )
    .option('--json', 'one rule per line, as JSON')
    .enablePositionalOptions()
    .helpCommand(false)
    .action((options) => finish(load().then(({ listRules }) => listRules(options, context))))
  const add = adder(rules)
  add(
    'add',
    'add a rule for every session, or for those of one folder',
    'parley rules add allow Bash --match "command=npm test" --folder .',
    'parley rules add disable WebFetch --agent claude',
  )
    .argument('<decision>', 'allow, ask, deny or disable')
    .argument('<tool>', 'the name of the tool, or "*" for every tool')
    .addOption(
      list('--match <field=pattern>', 'an input field and a pattern (* matches anything); repeatable'),
    )
    .option('--folder <folder>', 'only in sessions of this folder')
    .option('--agent <agent>', 'only for this agent')
    .option('--json', 'print the rule as JSON')
    .action((decision, tool, options) =>
      finish(load().then(({ addRule }) => addRule(decision, tool, options, context))),
    )
  add('remove', 'remove a rule', 'parley rules remove rul_01k2')
    .argument('<rule>', 'its id, or the start of it')
    .option('--json', 'print the removed rule as JSON')
    .action((id, options) => finish(load().then(({ removeRule }) => removeRule(id, options, context))))
}

/** `completion` needs the whole program, to list its commands and options. */
export function addCompletion(program: Command, add: Add, context: Context, finish: Finish): void {
  add(
    'completion',
    'print a script that completes commands and options in a shell',
    'parley completion bash >> ~/.bashrc',
    'parley completion fish > ~/.config/fish/completions/parley.fish',
  )
    .argument('<shell>', 'bash, zsh or fish')
    .action((shell) =>
      finish(
        import('./commands/completion.ts').then(({ completion }) => completion(shell, program, context)),
      ),
    )
}

/** Imports conversations from an agent's own history as sessions. */
export function addImport(add: Add, context: Context, finish: Finish): void {
  add(
    'import',
    "continue a conversation from an agent's own history",
    'parley import claude',
    'parley import claude --cwd ~/code/app',
    'parley import claude 4f2b8a1e-…',
  )
    .argument('<agent>', 'the agent')
    .argument('[id]', 'the conversation to import; without it, conversations are listed')
    .option('--cwd <folder>', 'only conversations of this folder')
    .option('--json', 'one conversation per line, or the session, as JSON')
    .action((agent, id, options) =>
      finish(
        import('./commands/import.ts').then(({ importConversation }) =>
          importConversation(agent, id, options, context),
        ),
      ),
    )
}
