import { script } from '../model-answers.ts'
import { bash, calls, isQueued, results, type Scenario, says, userWords } from './stage.ts'

const subagentPrompt = 'Count the stars in the file.'
const isSubagent = (request: Parameters<typeof userWords>[0]) =>
  userWords(request).includes(subagentPrompt) && !userWords(request).includes('Have the stars counted')

const countStars = calls('I ask a subagent.', [
  'Agent',
  { description: 'Count stars', prompt: subagentPrompt, subagent_type: 'general-purpose' },
])

/** Scenarios of work that starts or continues outside a turn that a prompt started. */
export const background: Readonly<Record<string, Scenario>> = {
  'subagent-asks-late': {
    options: { forwardSubagentText: true },
    async play({ server, start }) {
      const isOver = Promise.withResolvers<void>()
      server.script(isSubagent, [
        {
          response: async () => {
            await isOver.promise
            return calls('I look at it.', bash('touch stars.txt'))
          },
        },
        { response: says('There are three stars.') },
      ])
      script(
        server,
        countStars,
        says('The subagent is at work.'),
        calls('The subagent found three stars.', bash('touch found.txt')),
        says('Noted.'),
      )
      await using run = start()
      await run.turn('Have the stars counted.')
      isOver.resolve()
      await run.until((all) => results(all) >= 2)
    },
  },

  'steer-late': {
    async play({ server, start }) {
      script(
        server,
        says('This is the whole answer.'),
        calls('', bash('touch left.txt')),
        says('To the left.'),
      )
      await using run = start()
      const hold = server.hold(4)
      run.say('Say something.')
      await hold.reached
      run.say('Turn to the left.')
      await run.until((all) => all.filter(isQueued).length === 2)
      hold.release()
      await run.until((all) => results(all) >= 2)
    },
  },

  'steer-interrupted': {
    async play({ server, start }) {
      script(server, says('This is the whole answer.'), says('To the left.'))
      await using run = start()
      const hold = server.hold(4)
      run.say('Say something.')
      await hold.reached
      run.say('Turn to the left.')
      await run.until((all) => all.filter(isQueued).length === 2)
      await run.query.interrupt()
      await run.until((all) => results(all) >= 2)
    },
  },

  'interrupt-spares-task': {
    options: { forwardSubagentText: true },
    async play({ server, start }) {
      const isOver = Promise.withResolvers<void>()
      server.script(isSubagent, [
        {
          response: async () => {
            await isOver.promise
            return says('There are three stars.')
          },
        },
      ])
      script(server, countStars, says('The subagent is at work, and I talk on and on.'), says('Three stars.'))
      await using run = start()
      run.say('Have the stars counted.')
      await run.until((all) => all.some((one) => one.type === 'system' && one.subtype === 'task_started'))
      const hold = server.hold(4)
      await hold.reached
      await run.query.interrupt()
      await run.until((all) => results(all) >= 1)
      isOver.resolve()
      await run.until((all) => results(all) >= 2)
    },
  },
}
