import { registerHooks } from 'node:module'

/**
 * For examples with the AI SDK, in a checkout only: a package that it uses keeps TypeScript under the condition `source`,
 * too, which Node does not run from there. node --conditions=source --import ./examples/ai-sdk-in-checkout.ts examples/…
 */
registerHooks({
  resolve: (specifier, context, next) =>
    specifier.startsWith('eventsource-parser')
      ? next(specifier, { ...context, conditions: context.conditions.filter((one) => one !== 'source') })
      : next(specifier, context),
})
