/** An error answer over AMQP: a condition, which the client library maps to an error code, and a description. */
export class AmqpRefusal extends Error {
  readonly condition: string;

  constructor(condition: string, description: string) {
    super(description);
    this.condition = condition;
  }

  get error(): { condition: string; description: string } {
    return { condition: this.condition, description: this.message };
  }
}
